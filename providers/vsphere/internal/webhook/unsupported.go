// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"k8s.io/apimachinery/pkg/util/validation/field"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

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

// unsupportedInClone refuses what cloning a virtual machine does not act on.
func unsupportedInClone(spec infrav1.VirtualMachineCloneSpec, path *field.Path) field.ErrorList {
	const inTemplate = "set it up in the vSphere template"
	return forbid(path,
		unsupported{"pciDevices", len(spec.PciDevices) > 0, ""},
		unsupported{"os", spec.OS == infrav1.Windows, "use a Linux template"},
		unsupported{"hardwareVersion", spec.HardwareVersion != "", "upgrade the vSphere template"},
		unsupported{"nestedHV", spec.NestedHV != nil, inTemplate},
	)
}
