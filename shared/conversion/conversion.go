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
// because it belongs to another that the writer has changed, as a thumbprint to its server, toHub is given what was kept: see Keeping.
// Both convert the metadata.
package conversion

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// Constructor makes the converter of a kind.
type Constructor func(*runtime.Scheme) (conversion.Converter, error)

// pair makes the converter of a kind with one spoke.
func pair[hub, spoke client.Object](h hub, s spoke, fromHub func(context.Context, hub, spoke) error, toHub func(context.Context, spoke, hub) error) Constructor {
	return conversion.NewHubSpokeConverter(h, conversion.NewSpokeConverter(s, fromHub, toHub))
}

// KeepingPair makes the converter of a kind with one spoke by Keeping.
func KeepingPair[H, S any, hub object[H], spoke object[S]](fromHub func(hub, spoke), toHub func(src spoke, dst, kept hub)) Constructor {
	from, to := Keeping(fromHub, toHub)
	return pair(hub(new(H)), spoke(new(S)), from, to)
}

// Keeping makes the two functions that convert a kind from two that convert everything but its metadata. The spoke keeps the whole hub in the
// annotation that Cluster API uses; toHub is given it, or an empty hub where there is none. One that cannot be read counts as none, so that it
// does not keep anybody from reading or deleting the object.
func Keeping[H, S any, hub object[H], spoke object[S]](fromHub func(hub, spoke), toHub func(src spoke, dst, kept hub)) (
	from func(context.Context, hub, spoke) error, to func(context.Context, spoke, hub) error,
) {
	from = func(_ context.Context, src hub, dst spoke) error {
		copyMetadata(src, dst)
		fromHub(src, dst)
		// It empties the metadata of the hub, so it is the last that is done with it.
		if err := utilconversion.MarshalDataUnsafeNoCopy(src, dst); err != nil {
			return fmt.Errorf("keeping what only the hub has in annotation %s: %w", utilconversion.DataAnnotation, err)
		}
		return nil
	}
	return from, func(ctx context.Context, src spoke, dst hub) error {
		had := kept[H, hub](ctx, src)
		copyMetadata(src, dst)
		toHub(src, dst, had)
		return nil
	}
}

// copyMetadata has the converted object share the metadata.
func copyMetadata(from, to metav1.ObjectMetaAccessor) {
	src, isObject := from.GetObjectMeta().(*metav1.ObjectMeta)
	if dst, ok := to.GetObjectMeta().(*metav1.ObjectMeta); ok && isObject {
		*dst = *src
	}
}

// kept returns the hub that the annotation of the spoke holds, an empty one when there is none, and takes the annotation off.
func kept[H any, hub object[H]](ctx context.Context, spoke client.Object) hub {
	annotations := spoke.GetAnnotations()
	data, found := annotations[utilconversion.DataAnnotation]
	if !found {
		return new(H)
	}
	delete(annotations, utilconversion.DataAnnotation)
	spoke.SetAnnotations(annotations)
	kept := hub(new(H))
	if err := json.Unmarshal([]byte(data), kept); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Annotation cannot be read: what only the stored version has is lost", "annotation", utilconversion.DataAnnotation,
			"kind", fmt.Sprintf("%T", kept), "namespace", spoke.GetNamespace(), "name", spoke.GetName())
		return new(H)
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
