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

// StoreSpec sends what differs in metadata and spec, as ApplySpec does, for what must be known before something is made: by an annotation that is
// found again, and by a finalizer it goes again. What the API server does not keep, or another undoes each time, is a RemovedError, and is not on
// obj any more.
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
