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
	ctrlconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"
)

// creation has the rules of creating an object of a kind, in any version of the scheme.
type creation func(context.Context, *unstructured.Unstructured) (field.ErrorList, error)

// Written has the rules of creating objects of some kinds, for callers that are no webhook and have objects as they are written.
type Written map[string]creation

// NewWritten returns the rules of kinds, which look at the object alone. The function adds all versions of the kinds to a scheme.
func NewWritten(add func(*runtime.Scheme) error, kinds ...Kind) (Written, error) {
	scheme, written := runtime.NewScheme(), Written{}
	if err := add(scheme); err != nil {
		return nil, fmt.Errorf("making a scheme: %w", err)
	}
	for _, kind := range kinds {
		errors, err := kind.creation(scheme)
		if err != nil {
			return nil, fmt.Errorf("making the rules of %s: %w", kind.name(), err)
		}
		if errors != nil {
			written[kind.name()] = errors
		}
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

// creation has the rules of Validate. Objects of other versions than the hub are converted to it, as the API server has it done before it
// asks a webhook. It is nil for a kind that has no such rules.
func (w Webhooks[T]) creation(scheme *runtime.Scheme) (creation, error) {
	if w.Validate == nil {
		return nil, nil
	}
	kind, err := apiutil.GVKForObject(newObject[T](), scheme)
	if err != nil {
		return nil, err
	}
	in := reader{scheme: scheme, hub: kind}
	if w.Converter != nil {
		if in.convert, err = w.Converter(scheme); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, written *unstructured.Unstructured) (field.ErrorList, error) {
		object := newObject[T]()
		if err := in.read(ctx, written, object); err != nil {
			return nil, err
		}
		return w.Validate(object), nil
	}, nil
}

// reader reads objects of a kind, whatever version they are written in, as the hub.
type reader struct {
	scheme  *runtime.Scheme
	hub     schema.GroupVersionKind
	convert ctrlconversion.Converter
}

func (r reader) read(ctx context.Context, written *unstructured.Unstructured, object client.Object) error {
	switch is := written.GroupVersionKind(); {
	case is == r.hub:
		return runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, object)
	case r.convert == nil:
		return fmt.Errorf("%s is not served in %s, but in %s", is.Kind, is.GroupVersion(), r.hub.GroupVersion())
	}
	spoke, err := r.scheme.New(written.GroupVersionKind())
	if err != nil {
		return err
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(written.Object, spoke); err != nil {
		return err
	}
	object.GetObjectKind().SetGroupVersionKind(r.hub)
	return r.convert.ConvertObject(ctx, spoke, object)
}
