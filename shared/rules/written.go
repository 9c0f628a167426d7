// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/faultline-io/faultline/shared/conversion"
)

type (
	// Creation has the rules of creating an object of a kind, in any version of the scheme.
	Creation func(*runtime.Scheme) (creation, error)
	creation func(context.Context, *unstructured.Unstructured) (field.ErrorList, error)
)

// Written has the rules of creating objects of some kinds, for those who are no webhook and have objects as they are written.
type Written map[string]creation

// NewWritten returns the rules of kinds, which look at the object alone. The function adds all versions of the kinds to a scheme.
func NewWritten(add func(*runtime.Scheme) error, kinds map[string]Creation) (Written, error) {
	scheme, written := runtime.NewScheme(), Written{}
	if err := add(scheme); err != nil {
		return nil, fmt.Errorf("making a scheme: %w", err)
	}
	for kind, creation := range kinds {
		errors, err := creation(scheme)
		if err != nil {
			return nil, fmt.Errorf("making the rules of %s: %w", kind, err)
		}
		written[kind] = errors
	}
	return written, nil
}

// Errors returns what the webhook would refuse of an object were it created. It fails for what is no object of its kind and version.
func (w Written) Errors(ctx context.Context, object *unstructured.Unstructured) (field.ErrorList, error) {
	errors, found := w[object.GetKind()]
	if !found {
		return nil, nil
	}
	return errors(ctx, object)
}

// object is a pointer to a kind.
type object[T any] interface {
	*T
	client.Object
}

// Create has rules that know the hub of a kind. Objects of other versions are converted to it, as the API server has it done before it
// asks a webhook; there is no converter for a kind of one version.
func Create[T any, hub object[T]](converter conversion.Constructor, validate func(hub) field.ErrorList) Creation {
	return func(scheme *runtime.Scheme) (creation, error) {
		read, err := reader[T, hub](scheme, converter)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, written *unstructured.Unstructured) (field.ErrorList, error) {
			object, err := read(ctx, written)
			if err != nil {
				return nil, err
			}
			return validate(object), nil
		}, nil
	}
}

// reader reads an object, whatever version it is written in, as the hub.
func reader[T any, hub object[T]](scheme *runtime.Scheme, converter conversion.Constructor) (func(context.Context, *unstructured.Unstructured) (hub, error), error) {
	kind, err := apiutil.GVKForObject(hub(new(T)), scheme)
	if err != nil || converter == nil {
		return func(_ context.Context, written *unstructured.Unstructured) (hub, error) {
			return readAs[T, hub](written, kind)
		}, err
	}
	convert, err := converter(scheme)
	return func(ctx context.Context, written *unstructured.Unstructured) (hub, error) {
		if written.GroupVersionKind() == kind {
			return readAs[T, hub](written, kind)
		}
		spoke, err := scheme.New(written.GroupVersionKind())
		if err != nil {
			return nil, err
		}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, spoke); err != nil {
			return nil, err
		}
		to := hub(new(T))
		to.GetObjectKind().SetGroupVersionKind(kind)
		return to, convert.ConvertObject(ctx, spoke, to)
	}, err
}

func readAs[T any, hub object[T]](written *unstructured.Unstructured, kind schema.GroupVersionKind) (hub, error) {
	if is := written.GroupVersionKind(); is != kind {
		return nil, fmt.Errorf("%s is not served in %s, but in %s", is.Kind, is.GroupVersion(), kind.GroupVersion())
	}
	object := hub(new(T))
	return object, runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, object)
}
