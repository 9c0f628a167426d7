// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules contains the shared parts of the validating webhooks of all providers.
//
// A rule is a function that returns the errors in a spec, given its path. Each error names the field and how to fix it. An update
// is only rejected for errors that the object did not have before, so that an accepted object can always be updated and deleted.
package rules

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// refuse returns an Invalid error with the errors of an object; nil if there are none.
func refuse(object client.Object, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return apierrors.NewInvalid(object.GetObjectKind().GroupVersionKind().GroupKind(), object.GetName(), errs)
}

// Added returns the errors in after that were not in before.
func Added(before, after field.ErrorList) field.ErrorList {
	var errs field.ErrorList
	for _, err := range after {
		if !slices.ContainsFunc(before, func(known *field.Error) bool { return known.Error() == err.Error() }) {
			errs = append(errs, err)
		}
	}
	return errs
}

// AddedWarnings returns the warnings in after that were not in before.
func AddedWarnings(before, after admission.Warnings) admission.Warnings {
	return slices.DeleteFunc(after, func(warning string) bool { return slices.Contains(before, warning) })
}

// Warning formats an admission warning for a field.
func Warning(path *field.Path, format string, args ...any) string {
	return fmt.Sprintf("%s: %s", path, fmt.Sprintf(format, args...))
}
