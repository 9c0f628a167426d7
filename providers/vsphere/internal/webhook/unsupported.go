// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import "k8s.io/apimachinery/pkg/util/validation/field"

// unsupported is a field of the schema that nothing acts on yet.
type unsupported struct {
	field   string
	isSet   bool
	instead string
}

// forbid refuses the fields that are set: a field that is accepted and then
// ignored is worse than one that is refused.
func forbid(path *field.Path, fields ...unsupported) field.ErrorList {
	var errs field.ErrorList
	for _, f := range fields {
		if !f.isSet {
			continue
		}
		detail := "not supported by this version of the provider: remove it"
		if f.instead != "" {
			detail += ", and " + f.instead
		}
		errs = append(errs, field.Forbidden(path.Child(f.field), detail))
	}
	return errs
}
