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

// creation validates the creation of an object of a kind, in any version of the scheme.
type creation func(context.Context, *unstructured.Unstructured) (field.ErrorList, error)

// Validators validates the creation of unstructured objects of some kinds outside a webhook. It maps kinds to their rules.
type Validators map[string]creation

// NewValidators returns the rules of kinds that only depend on the object. add registers all versions of the kinds with a scheme.
func NewValidators(add func(*runtime.Scheme) error, kinds ...Kind) (Validators, error) {
	scheme, written := runtime.NewScheme(), Validators{}
	if err := add(scheme); err != nil {
		return nil, fmt.Errorf("creating a scheme: %w", err)
	}
	for _, kind := range kinds {
		errors, err := kind.creation(scheme)
		if err != nil {
			return nil, fmt.Errorf("creating the validators of %s: %w", kind.name(), err)
		}
		if errors != nil {
			written[kind.name()] = errors
		}
	}
	return written, nil
}

// Errors returns the errors for which the webhook would reject the creation of an object. It returns an error if the object
// cannot be decoded as its kind and version.
func (w Validators) Errors(ctx context.Context, object *unstructured.Unstructured) (field.ErrorList, error) {
	errors, found := w[object.GetKind()]
	if !found {
		return nil, nil
	}
	return errors(ctx, object)
}

// creation returns the rules of Validate; nil for a kind without any. Objects of other versions are converted to the hub, as the
// API server does before it calls a webhook.
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

// reader reads objects of a kind in any version as the hub.
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
		return fmt.Errorf("%s is not served in %s, only in %s", is.Kind, is.GroupVersion(), r.hub.GroupVersion())
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
