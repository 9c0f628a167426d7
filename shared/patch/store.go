// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"
	"errors"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StoreSpec sends the changes of metadata and spec as ApplySpec does. Call it for metadata that must be stored before something
// is created: an annotation that identifies it later, or a finalizer that ensures its deletion. If the API server does not keep
// the metadata, or another writer keeps reverting it, StoreSpec returns a RemovedError and removes the metadata from obj.
func (p *Patch) StoreSpec(ctx context.Context, c client.Client, obj client.Object) error {
	err := p.ApplySpec(ctx, c, obj)
	if errors.As(err, new(*RemovedError)) {
		obj.SetAnnotations(maps.Clone(p.before.GetAnnotations()))
		obj.SetLabels(maps.Clone(p.before.GetLabels()))
		obj.SetFinalizers(slices.Clone(p.before.GetFinalizers()))
		obj.SetOwnerReferences(slices.Clone(p.before.GetOwnerReferences()))
	}
	return err
}
