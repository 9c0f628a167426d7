// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// validateMetaData validates metadata.
func validateMetaData(data infrav1.MetaData, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, item := range data.FromHostInterfaces {
		errs = append(errs, validateHostInterface(item, path.Child("fromHostInterfaces").Index(i).Child("interface"))...)
	}
	for i, item := range data.FromLabels {
		errs = append(errs, validateKey(item.Label, path.Child("fromLabels").Index(i).Child("label"))...)
	}
	for i, item := range data.FromAnnotations {
		errs = append(errs, validateKey(item.Annotation, path.Child("fromAnnotations").Index(i).Child("annotation"))...)
	}
	return errs
}

func validateHostInterface(item infrav1.MetaDataHostInterface, path *field.Path) field.ErrorList {
	switch {
	case !item.FromBootMAC && item.Interface == "":
		return field.ErrorList{field.Required(path, "must name the interface of the MAC address, unless fromBootMAC is set")}
	case item.FromBootMAC && item.Interface != "":
		return field.ErrorList{field.Forbidden(path, "may not be set together with fromBootMAC: remove one of them")}
	}
	return nil
}

// validateKey requires a valid key of a label or annotation.
func validateKey(key string, path *field.Path) field.ErrorList {
	if len(validation.IsQualifiedName(strings.ToLower(key))) == 0 {
		return nil
	}
	return field.ErrorList{field.Invalid(path, key,
		"must be a label or annotation key: at most 63 letters, digits, '-', '_' and '.', after a domain and '/' if it has one, "+
			"such as example.com/rack")}
}
