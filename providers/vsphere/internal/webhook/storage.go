// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
	"github.com/faultline-io/faultline/shared/rules"
)

const megahertz = 1_000_000

// validateDisks validates what the schema of disks does not. The schema limits their number, names, minimum sizes and modes.
func validateDisks(spec infrav1.VirtualMachineCloneSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, size := range spec.AdditionalDisksGiB {
		if size < 0 {
			errs = append(errs, field.Invalid(path.Child("additionalDisksGiB").Index(i), size,
				"must not be negative; use 0 to keep the size of the disk in the template"))
		}
	}
	return errs
}

// validateResources validates reservations and limits according to vSphere.
func validateResources(spec infrav1.VirtualMachineCloneSpec, path *field.Path) field.ErrorList {
	requests, allowed := spec.Resources.Requests, spec.Resources.Limits
	errs := validateAllocation("cpu", requests.CPU, allowed.CPU, path)
	errs = append(errs, validateAllocation("memory", requests.Memory, allowed.Memory, path)...)
	mebibytes := max(spec.MemoryMiB, limits.MinMemoryMiB)
	if size := resource.NewQuantity(mebibytes<<20, resource.BinarySI); requests.Memory.Cmp(*size) > 0 {
		errs = append(errs, field.Invalid(path.Child("requests", "memory"), requests.Memory.String(), fmt.Sprintf(
			"must not be more than the memory of the machine, which is %s; lower it, or increase memoryMiB", size)))
	}
	return errs
}

func validateAllocation(of string, request, limit resource.Quantity, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, amount := range []struct {
		quantity resource.Quantity
		path     *field.Path
	}{{request, path.Child("requests", of)}, {limit, path.Child("limits", of)}} {
		if amount.quantity.Sign() < 0 {
			errs = append(errs, field.Invalid(amount.path, amount.quantity.String(), "must not be negative; remove it for no reservation or limit"))
		}
	}
	if !limit.IsZero() && limit.Sign() > 0 && request.Cmp(limit) > 0 {
		errs = append(errs, field.Invalid(path.Child("requests", of), request.String(), fmt.Sprintf(
			"must not be more than limits.%s, which is %s; lower it, or increase the limit", of, limit.String())))
	}
	return errs
}

// warnStorage warns about valid disk and resource settings that have surprising effects.
func warnStorage(spec infrav1.VirtualMachineCloneSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if spec.CloneMode == infrav1.LinkedClone && len(spec.AdditionalDisksGiB) > 0 {
		warnings = append(warnings, rules.Warning(path.Child("additionalDisksGiB"),
			"has no effect on a linked clone, which keeps the sizes of its snapshot; use cloneMode %s to make disks larger", infrav1.FullClone))
	}
	warnings = append(warnings, warnHertz(spec.Resources.Requests.CPU, path.Child("resources", "requests", "cpu"))...)
	return append(warnings, warnHertz(spec.Resources.Limits.CPU, path.Child("resources", "limits", "cpu"))...)
}

// warnHertz warns about a CPU quantity that seems to count processors, as in Kubernetes.
func warnHertz(cpu resource.Quantity, path *field.Path) admission.Warnings {
	if cpu.Sign() <= 0 || cpu.CmpInt64(megahertz) >= 0 {
		return nil
	}
	return admission.Warnings{rules.Warning(path, "is in hertz, and %s is less than a megahertz; write 2G for two gigahertz", cpu.String())}
}
