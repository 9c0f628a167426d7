// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// validateNaming requires a template that yields a valid object name.
func validateNaming(naming infrav1.VSphereVMNamingSpec, path *field.Path) field.ErrorList {
	path = path.Child("template")
	name, err := naming.VMName("machine")
	if err != nil {
		return field.ErrorList{field.Invalid(path, naming.Template,
			fmt.Sprintf("must be a valid template that uses only .machine.name and the functions trimSuffix and trunc: %v", err))}
	}
	if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
		return field.ErrorList{field.Invalid(path, naming.Template,
			fmt.Sprintf("must produce a valid object name, but produces %q: %s", name, strings.Join(problems, "; ")))}
	}
	return nil
}

// warnNaming warns about a template that yields the same name for all machines.
func warnNaming(naming infrav1.VSphereVMNamingSpec, path *field.Path) admission.Warnings {
	one, err := naming.VMName("machine-a")
	if err != nil || naming.Template == "" {
		return nil
	}
	if other, err := naming.VMName("another-b"); err != nil || one != other {
		return nil
	}
	return admission.Warnings{rules.Warning(path.Child("template"),
		"produces the name %q for every machine, so only one can exist; use .machine.name in it", one)}
}
