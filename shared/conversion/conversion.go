// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion contains the shared parts of converting objects between the versions of their kind. One version is the hub,
// which is stored and which every controller uses; the others are spokes, for clients that still write them.
//
// Fields that only the hub has are kept in the annotation that Cluster API uses for it, while an object is converted to a spoke.
// They are restored when the object is written, unless the client has changed what they belong to. A spoke without the
// annotation, or with an invalid one, is converted by its own fields only: it can always be read, updated and deleted.
//
// For each kind a provider implements two functions, fromHub and toHub, with the helpers here, and tests them with package
// rulestest. Use Lossless to make converters of them if all fields are independent. Use Keeping if a kept field must not be
// restored because the client has changed the field to which it belongs, such as a thumbprint and its server: its toHub receives
// what was kept. Both convert the metadata.
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

// Constructor creates the converter of a kind.
type Constructor func(*runtime.Scheme) (conversion.Converter, error)

// pair returns a Constructor for a kind with one spoke.
func pair[hub, spoke client.Object](h hub, s spoke, fromHub func(context.Context, hub, spoke) error, toHub func(context.Context, spoke, hub) error) Constructor {
	return conversion.NewHubSpokeConverter(h, conversion.NewSpokeConverter(s, fromHub, toHub))
}

// KeepingPair returns a Constructor for a kind with one spoke that converts with Keeping.
func KeepingPair[H, S any, hub object[H], spoke object[S]](fromHub func(hub, spoke), toHub func(src spoke, dst, kept hub)) Constructor {
	from, to := Keeping(fromHub, toHub)
	return pair(hub(new(H)), spoke(new(S)), from, to)
}

// Keeping returns the two conversion functions of a kind from two functions that convert everything except metadata. The spoke
// keeps the whole hub in Cluster API's annotation; toHub receives it as kept, or an empty hub if none exists. An invalid
// annotation is ignored, so that the object can still be read and deleted.
func Keeping[H, S any, hub object[H], spoke object[S]](fromHub func(hub, spoke), toHub func(src spoke, dst, kept hub)) (
	from func(context.Context, hub, spoke) error, to func(context.Context, spoke, hub) error,
) {
	from = func(_ context.Context, src hub, dst spoke) error {
		copyMetadata(src, dst)
		fromHub(src, dst)
		// This clears the metadata of the hub, so it must come last.
		if err := utilconversion.MarshalDataUnsafeNoCopy(src, dst); err != nil {
			return fmt.Errorf("storing fields of the hub version in annotation %s: %w", utilconversion.DataAnnotation, err)
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

// copyMetadata makes the converted object share the metadata.
func copyMetadata(from, to metav1.ObjectMetaAccessor) {
	src, isObject := from.GetObjectMeta().(*metav1.ObjectMeta)
	if dst, ok := to.GetObjectMeta().(*metav1.ObjectMeta); ok && isObject {
		*dst = *src
	}
}

// kept returns the hub in the annotation of the spoke, or an empty one if none exists, and removes the annotation.
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
		ctrl.LoggerFrom(ctx).Error(err, "Annotation cannot be read, fields of the stored version are lost", "annotation", utilconversion.DataAnnotation,
			"kind", fmt.Sprintf("%T", kept), "namespace", spoke.GetNamespace(), "name", spoke.GetName())
		return new(H)
	}
	return kept
}

// Pointer returns nil for the zero value, otherwise a pointer to the value.
func Pointer[T comparable](value T) *T {
	var zero T
	if value == zero {
		return nil
	}
	return &value
}

// Value returns the value of the pointer, or the zero value for nil.
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
