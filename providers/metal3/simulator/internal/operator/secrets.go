// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package operator

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
)

const (
	// SecretLabel is set on each Secret that the operator has read.
	SecretLabel = "environment.metal3.io"
	// SecretLabelValue is the value of SecretLabel.
	SecretLabelValue = "baremetal"

	// SecretFinalizer blocks the deletion of a BMC Secret while its host exists.
	SecretFinalizer = bmov1alpha1.BareMetalHostFinalizer + "/secret"
)

// ClaimSecret labels a Secret that has been read.
func ClaimSecret(ctx context.Context, c client.Client, secret client.Object) error {
	return change(ctx, c, secret, label)
}

// KeepSecret labels a BMC Secret and adds the finalizer, unless the Secret is being deleted.
func KeepSecret(ctx context.Context, c client.Client, secret client.Object) error {
	return change(ctx, c, secret, func(secret client.Object) bool {
		labelled := label(secret)
		return secret.GetDeletionTimestamp().IsZero() && controllerutil.AddFinalizer(secret, SecretFinalizer) || labelled
	})
}

// ReleaseSecret removes the finalizer from the BMC Secret of a deleted host.
func ReleaseSecret(ctx context.Context, c client.Client, secret client.Object) error {
	return client.IgnoreNotFound(change(ctx, c, secret, func(secret client.Object) bool { return controllerutil.RemoveFinalizer(secret, SecretFinalizer) }))
}

func label(secret client.Object) bool {
	if _, ok := secret.GetLabels()[SecretLabel]; ok {
		return false
	}
	meta := &metav1.ObjectMeta{Labels: secret.GetLabels()}
	metav1.SetMetaDataLabel(meta, SecretLabel, SecretLabelValue)
	secret.SetLabels(meta.Labels)
	return true
}

func change(ctx context.Context, c client.Client, secret client.Object, apply func(client.Object) bool) error {
	before := secret.DeepCopyObject().(client.Object)
	if !apply(secret) {
		return nil
	}
	if err := c.Patch(ctx, secret, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("labelling Secret %s: %w", secret.GetName(), err)
	}
	return nil
}
