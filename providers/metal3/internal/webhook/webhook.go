// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package webhook defaults and validates the metal3 kinds when they are
// written.
//
// A rule is a function from a spec, and its path, to the errors in it. Each
// error names the field and the way out. On update only errors that the object
// did not have before count, so that an object which was let in once can always
// be updated and deleted. What the CRDs check is not checked again.
package webhook

import (
	"context"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// SetupWithManager registers the webhooks of every kind.
func SetupWithManager(mgr ctrl.Manager) error {
	for _, kind := range []struct {
		name  string
		setup func(ctrl.Manager) error
	}{
		{"Metal3Cluster", (&Metal3Cluster{Reader: mgr.GetAPIReader()}).SetupWithManager},
		{"Metal3ClusterTemplate", (&Metal3ClusterTemplate{}).SetupWithManager},
		{"Metal3Data", (&Metal3Data{}).SetupWithManager},
		{"Metal3DataClaim", (&Metal3DataClaim{}).SetupWithManager},
		{"Metal3DataTemplate", (&Metal3DataTemplate{}).SetupWithManager},
		{"Metal3Machine", (&Metal3Machine{}).SetupWithManager},
		{"Metal3MachineTemplate", (&Metal3MachineTemplate{}).SetupWithManager},
		{"Metal3Remediation", (&Metal3Remediation{}).SetupWithManager},
		{"Metal3RemediationTemplate", (&Metal3RemediationTemplate{}).SetupWithManager},
	} {
		if err := kind.setup(mgr); err != nil {
			return fmt.Errorf("setting up the webhooks of %s: %w", kind.name, err)
		}
	}
	return nil
}

// deletable lets every object of a kind be deleted.
type deletable[T runtime.Object] struct{}

// ValidateDelete allows the deletion.
func (deletable[T]) ValidateDelete(context.Context, T) (admission.Warnings, error) {
	return nil, nil
}

// refuse makes one error of an object's errors, nil when there are none.
func refuse(kind, name string, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(infrav1.GroupVersion.WithKind(kind).GroupKind(), name, errs)
}

// added returns the errors in after that were not in before.
func added(before, after field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	for _, err := range after {
		if !slices.ContainsFunc(before, func(known *field.Error) bool { return known.Error() == err.Error() }) {
			errs = append(errs, err)
		}
	}
	return errs
}

// addedWarnings returns the warnings in after that were not in before.
func addedWarnings(before, after admission.Warnings) admission.Warnings {
	return slices.DeleteFunc(after, func(warning string) bool { return slices.Contains(before, warning) })
}

// warning says at the field that something about it is surprising.
func warning(path *field.Path, format string, args ...any) string {
	return fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...))
}
