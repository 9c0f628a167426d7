// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateNamespace requires a reference to stay in the namespace of the object that holds it: permission to write there must not
// grant read access elsewhere.
func validateNamespace(namespace, own string, path *field.Path) field.ErrorList {
	if namespace == "" || namespace == own {
		return nil
	}
	return field.ErrorList{field.Invalid(path, namespace,
		"must be the namespace of this object, which is "+own+": remove it, and create the other object there")}
}

// validateSecret requires a reference to a Secret in the namespace of the object that holds it.
func validateSecret(ref *corev1.SecretReference, own string, path *field.Path) field.ErrorList {
	if ref == nil {
		return nil
	}
	errs := validateNamespace(ref.Namespace, own, path.Child("namespace"))
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must name a Secret: set the name, or remove the reference"))
	}
	return errs
}

// validateObject requires a reference to an object in the namespace of the object that holds it.
func validateObject(ref corev1.ObjectReference, kind, own string, path *field.Path) field.ErrorList {
	errs := validateNamespace(ref.Namespace, own, path.Child("namespace"))
	if ref.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "must name a "+kind))
	}
	return errs
}
