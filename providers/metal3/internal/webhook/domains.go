// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// validateDomainName requires a name that is a valid label value.
func validateDomainName(name string, path *field.Path) field.ErrorList {
	if name == "" || len(validation.IsValidLabelValue(name)) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, "must be a label value, because hosts have the name in their label "+infrav1.FailureDomainLabel+
		": at most 63 letters, digits, '-', '_' and '.', with a letter or digit first and last; "+
		"rename the domain")}
}
