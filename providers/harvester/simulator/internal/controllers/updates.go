// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

// IgnoreStale returns the error of a change, or nil if the object was deleted or has changed, because an event follows.
func IgnoreStale(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return client.IgnoreNotFound(err)
}

// RetryOnConflict repeats a read and a write until the write does not conflict, for several seconds: other controllers, such as the real
// virt-controller, write often.
func RetryOnConflict(write func() error) error {
	return retry.RetryOnConflict(wait.Backoff{Steps: 12, Duration: 10 * time.Millisecond, Factor: 1.6, Jitter: 0.1}, write)
}

// RemoveFinalizers removes finalizers from an object that has been read.
func RemoveFinalizers(ctx context.Context, c client.Client, obj client.Object, finalizers ...string) error {
	before := obj.DeepCopyObject().(client.Object)
	removed := false
	for _, finalizer := range finalizers {
		removed = controllerutil.RemoveFinalizer(obj, finalizer) || removed
	}
	if !removed {
		return nil
	}
	err := c.Patch(ctx, obj, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	if IgnoreStale(err) != nil {
		return fmt.Errorf("removing finalizer of %s: %w", obj.GetName(), err)
	}
	return nil
}
