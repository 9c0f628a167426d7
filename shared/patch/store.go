// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// RemovedError is that the API server has taken a write and not kept it: a policy or webhook removes or replaces what was written.
type RemovedError struct {
	// Kind and Name are those of the object.
	Kind, Name string
	// Removed is what was written of its metadata, such as "annotation example.com/a".
	Removed []string
}

// Error names what is removed, and says what to do.
func (e *RemovedError) Error() string {
	return fmt.Sprintf("the API server does not keep the %s of %s %s: find the mutating admission policy or webhook that removes it, and have it pass over "+
		"annotations and finalizers of Faultline and of Cluster API", strings.Join(e.Removed, ", "), e.Kind, e.Name)
}

// StoreSpec sends what differs in metadata and spec, as ApplySpec does, and reads from the answer that annotations and finalizers are stored. It
// is for what must be known before something is made: by an annotation that is found again, and by a finalizer it goes again. What is not stored
// is an error, which is a RemovedError, and is not on obj any more.
func (p *Patch) StoreSpec(ctx context.Context, c client.Client, obj client.Object) error {
	before := p.before
	if err := p.ApplySpec(ctx, c, obj); err != nil {
		return err
	}
	lost := removed(before, obj, p.before)
	if len(lost) == 0 {
		return nil
	}
	obj.SetAnnotations(maps.Clone(p.before.GetAnnotations()))
	obj.SetFinalizers(slices.Clone(p.before.GetFinalizers()))
	gvk, err := apiutil.GVKForObject(obj, c.Scheme())
	if err != nil {
		return err
	}
	return &RemovedError{Kind: gvk.Kind, Name: obj.GetName(), Removed: lost}
}

// removed names what was written and is not stored.
func removed(before, written, stored client.Object) (all []string) {
	for _, key := range slices.Sorted(maps.Keys(written.GetAnnotations())) {
		was, had := before.GetAnnotations()[key]
		want := written.GetAnnotations()[key]
		if has, kept := stored.GetAnnotations()[key]; (!had || was != want) && (!kept || has != want) {
			all = append(all, "annotation "+key)
		}
	}
	for _, finalizer := range written.GetFinalizers() {
		if !slices.Contains(before.GetFinalizers(), finalizer) && !slices.Contains(stored.GetFinalizers(), finalizer) {
			all = append(all, "finalizer "+finalizer)
		}
	}
	return all
}
