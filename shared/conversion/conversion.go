// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion is what converting objects between the versions of their kind has in common. One version is the hub, which is
// stored and which every controller knows; the others are spokes, for those who still write them.
//
// What only the hub has is kept, while an object is shown as a spoke, in the annotation that Cluster API uses for it. It comes back
// when the object is written: those parts that belong to something which the writer has not changed. A spoke without the annotation,
// or with one that cannot be read, is what it says and nothing more: it can always be read, updated and deleted.
//
// A provider writes for each kind two functions, fromHub and toHub, with the helpers here, and tests them with package
// rulestest. Lossless makes converters of them where every field stands for itself. Where one that was kept must not come back
// because it belongs to another that the writer has changed, as a thumbprint to its server, toHub says so itself, with Keep and Kept.
package conversion

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// Constructor makes the converter of a kind.
type Constructor func(*runtime.Scheme) (conversion.Converter, error)

// Pair makes the converter of a kind with one spoke.
func Pair[hub, spoke client.Object](h hub, s spoke, fromHub func(context.Context, hub, spoke) error, toHub func(context.Context, spoke, hub) error) Constructor {
	return conversion.NewHubSpokeConverter(h, conversion.NewSpokeConverter(s, fromHub, toHub))
}

// Keep has the annotation of the spoke hold the hub, whose metadata it empties: it is the last that is done with it.
func Keep(hub, spoke client.Object) error {
	if err := utilconversion.MarshalDataUnsafeNoCopy(hub, spoke); err != nil {
		return fmt.Errorf("keeping what only the hub has in annotation %s: %w", utilconversion.DataAnnotation, err)
	}
	return nil
}

// Kept returns the hub that the annotation of the spoke holds, an empty one when there is none, and takes the annotation off. One that
// cannot be read counts as none, so that it does not keep anybody from reading or deleting the object.
func Kept[T any, hub interface {
	*T
	client.Object
}](ctx context.Context, spoke client.Object) hub {
	annotations := spoke.GetAnnotations()
	data, found := annotations[utilconversion.DataAnnotation]
	if !found {
		return new(T)
	}
	delete(annotations, utilconversion.DataAnnotation)
	spoke.SetAnnotations(annotations)
	kept := hub(new(T))
	if err := json.Unmarshal([]byte(data), kept); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Annotation cannot be read: what only the stored version has is lost", "annotation", utilconversion.DataAnnotation,
			"kind", fmt.Sprintf("%T", kept), "namespace", spoke.GetNamespace(), "name", spoke.GetName())
		return new(T)
	}
	return kept
}

// Pointer returns nil for the zero value, else a pointer to the value.
func Pointer[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// Value returns what the pointer says, the zero value for nil.
func Value[T any](pointer *T) T {
	if pointer == nil {
		var zero T
		return zero
	}
	return *pointer
}

// Each converts every element of a list; nil stays nil.
func Each[from, to any](list []from, convert func(from) to) []to {
	if list == nil {
		return nil
	}
	converted := make([]to, 0, len(list))
	for _, element := range list {
		converted = append(converted, convert(element))
	}
	return converted
}
