// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rules is what the validating webhooks of all providers have in common.
//
// A rule is a function from a spec, and its path, to the errors in it. Each error names the field and the way out. On
// update only errors that the object did not have before count, so that an object which was let in once can always be
// updated and deleted.
package rules

import (
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"
)

// refuse makes one error of an object's errors, nil when there are none.
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
