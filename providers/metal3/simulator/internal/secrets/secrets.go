// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package secrets marks the Secrets that the operator reads, as it does so that its cache, which has no others, shows them.
package secrets

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// Label is on each Secret that the operator has read.
	Label = "environment.metal3.io"
	// Value is the label's.
	Value = "baremetal"
)

// Claim labels a Secret that has been read.
func Claim(ctx context.Context, c client.Client, secret client.Object) error {
	if _, ok := secret.GetLabels()[Label]; ok {
		return nil
	}
	before := secret.DeepCopyObject().(client.Object)
	meta := &metav1.ObjectMeta{Labels: secret.GetLabels()}
	metav1.SetMetaDataLabel(meta, Label, Value)
	secret.SetLabels(meta.Labels)
	if err := c.Patch(ctx, secret, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("labelling Secret %s: %w", secret.GetName(), err)
	}
	return nil
}
