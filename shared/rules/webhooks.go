// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rules

import (
	"context"
	"fmt"
	"reflect"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	"github.com/faultline-io/faultline/shared/conversion"
)

// Kind is a kind with webhooks; Webhooks implements it.
type Kind interface {
	name() string
	setup(mgr ctrl.Manager) error
	creation(scheme *runtime.Scheme) (creation, error)
}

// Setup registers the webhooks of every kind, and the conversion webhook.
func Setup(mgr ctrl.Manager, kinds ...Kind) error {
	conversion.Serve(mgr)
	for _, kind := range kinds {
		if err := kind.setup(mgr); err != nil {
			return fmt.Errorf("setting up webhooks of %s: %w", kind.name(), err)
		}
	}
	return nil
}

// Webhooks configures the webhooks of a kind, whose objects have the pointer type T. Every function may be nil.
type Webhooks[T client.Object] struct {
	// Converter converts the kind; nil for a kind with one version.
	Converter conversion.Constructor
	// Default sets the defaults of an object that is created or updated.
	Default Defaulter[T]
	// Validate returns the errors in an object. An update is only rejected for errors that the object did not have before.
	Validate func(T) field.ErrorList
	// Warn returns warnings about accepted values that may surprise users. An update only returns warnings that did not apply
	// before.
	Warn func(T) admission.Warnings
	// Change returns the errors in an update, in addition to those of Validate.
	Change func(before, after T) field.ErrorList
	// Create, Update and Delete are rules that need more than the object, such as other objects.
	Create Rule[T]
	Update func(ctx context.Context, before, after T) (admission.Warnings, field.ErrorList, error)
	Delete Rule[T]
}

// Rule returns warnings about an object and the errors in it. It returns an error if they cannot be determined.
type Rule[T client.Object] func(ctx context.Context, object T) (admission.Warnings, field.ErrorList, error)

// Defaulter sets the defaults of an object.
type Defaulter[T client.Object] func(ctx context.Context, object T) error

// Default implements admission.Defaulter.
func (d Defaulter[T]) Default(ctx context.Context, object T) error { return d(ctx, object) }

func (w Webhooks[T]) name() string { return reflect.TypeFor[T]().Elem().Name() }

func (w Webhooks[T]) setup(mgr ctrl.Manager) error {
	builder := ctrl.NewWebhookManagedBy(mgr, newObject[T]())
	if w.Default != nil {
		builder.WithDefaulter(w.Default)
	}
	if w.Validate != nil || w.Change != nil || w.Create != nil || w.Update != nil || w.Delete != nil {
		builder.WithValidator(w)
	}
	if w.Converter != nil {
		builder.WithConverter(w.Converter)
	}
	return builder.Complete()
}

// ValidateCreate rejects an object with errors.
func (w Webhooks[T]) ValidateCreate(ctx context.Context, object T) (admission.Warnings, error) {
	warnings, errs, err := runRule(ctx, w.Create, object)
	if err != nil {
		return nil, err
	}
	return append(w.warnings(object), warnings...), refuse(object, append(w.errors(object), errs...))
}

// ValidateUpdate rejects an object with errors that it did not have before, so that an accepted object can always be updated.
func (w Webhooks[T]) ValidateUpdate(ctx context.Context, before, after T) (admission.Warnings, error) {
	warnings, errs := AddedWarnings(w.warnings(before), w.warnings(after)), Added(w.errors(before), w.errors(after))
	if w.Change != nil {
		errs = append(errs, w.Change(before, after)...)
	}
	if w.Update != nil {
		moreWarnings, moreErrs, err := w.Update(ctx, before, after)
		if err != nil {
			return nil, err
		}
		warnings, errs = append(warnings, moreWarnings...), append(errs, moreErrs...)
	}
	return warnings, refuse(after, errs)
}

// ValidateDelete rejects a deletion only for the errors of Delete.
func (w Webhooks[T]) ValidateDelete(ctx context.Context, object T) (admission.Warnings, error) {
	warnings, errs, err := runRule(ctx, w.Delete, object)
	if err != nil {
		return nil, err
	}
	return warnings, refuse(object, errs)
}

func runRule[T client.Object](ctx context.Context, rule Rule[T], object T) (admission.Warnings, field.ErrorList, error) {
	if rule == nil {
		return nil, nil, nil
	}
	return rule(ctx, object)
}

func (w Webhooks[T]) warnings(object T) admission.Warnings {
	if w.Warn == nil {
		return nil
	}
	return w.Warn(object)
}

func (w Webhooks[T]) errors(object T) field.ErrorList {
	if w.Validate == nil {
		return nil
	}
	return w.Validate(object)
}

// newObject returns an empty object of a pointer type.
func newObject[T client.Object]() T {
	object, _ := reflect.New(reflect.TypeFor[T]().Elem()).Interface().(T)
	return object
}
