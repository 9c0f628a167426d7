// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
	"github.com/faultline-io/faultline/shared/rules"
)

const (
	// tagURN is the prefix of the identifiers of vSphere tags.
	tagURN = "urn:vmomi:InventoryServiceTag:"

	// memoryStepMiB is the unit of vSphere's memory sizes.
	memoryStepMiB = 4
)

// reservedVMXKeys returns the keys through which the guest is configured, in lower case, because vSphere ignores case.
func reservedVMXKeys() []string {
	return []string{
		guestinfo.MetadataKey, guestinfo.MetadataEncodingKey,
		guestinfo.UserDataKey, guestinfo.UserDataEncodingKey,
		guestinfo.IgnitionKey, guestinfo.IgnitionEncodingKey,
	}
}

// validateClone validates a virtual machine, in any kind that contains one.
func validateClone(spec infrav1.VirtualMachineCloneSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	errs = append(errs, validateServer(spec.Server, path.Child("server"))...)
	errs = append(errs, validateThumbprint(spec.Thumbprint, path.Child("thumbprint"))...)
	errs = append(errs, validateSize(spec, path)...)
	errs = append(errs, validateDisks(spec, path)...)
	errs = append(errs, validateResources(spec, path.Child("resources"))...)
	errs = append(errs, validateHardware(spec, path)...)
	errs = append(errs, validateVMXKeys(spec.CustomVMXKeys, path.Child("customVMXKeys"))...)
	errs = append(errs, validateTags(spec.TagIDs, path.Child("tagIDs"))...)
	errs = append(errs, validateNetwork(spec.Network, path.Child("network"))...)
	return errs
}

// warnClone warns about valid settings that have surprising effects.
func warnClone(spec infrav1.VirtualMachineCloneSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	if spec.CloneMode == infrav1.LinkedClone && spec.DiskGiB > 0 {
		warnings = append(warnings, rules.Warning(path.Child("diskGiB"),
			"has no effect on a linked clone, which keeps the size of its snapshot; use cloneMode %s to make the disk larger", infrav1.FullClone))
	}
	warnings = append(warnings, warnStorage(spec, path)...)
	if spec.OS != "" && spec.OS != infrav1.Linux && spec.OS != infrav1.Windows {
		warnings = append(warnings, rules.Warning(path.Child("os"), "is treated as %s", infrav1.Linux))
	}
	if spec.CloneMode == infrav1.FullClone && spec.Snapshot != "" {
		warnings = append(warnings, rules.Warning(path.Child("snapshot"),
			"is not used by a full clone, which is created from the template itself; use cloneMode %s to clone from a snapshot", infrav1.LinkedClone))
	}
	return append(warnings, warnHardware(spec, path)...)
}

// validateSize validates the numbers of processors and the memory size.
func validateSize(spec infrav1.VirtualMachineCloneSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	cpus := max(spec.NumCPUs, limits.MinCPUs)
	if cores := spec.NumCoresPerSocket; cores != nil && *cores > 0 && cpus%*cores != 0 {
		errs = append(errs, field.Invalid(path.Child("numCoresPerSocket"), *cores, fmt.Sprintf(
			"must be a divisor of numCPUs, which is %d (%d if it is not set); choose another number, or set numCPUs",
			cpus, limits.MinCPUs)))
	}
	if spec.MemoryMiB%memoryStepMiB != 0 {
		errs = append(errs, field.Invalid(path.Child("memoryMiB"), spec.MemoryMiB, "must be a multiple of 4; round it up"))
	}
	return errs
}

func validateVMXKeys(keys map[string]string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(keys)) {
		switch {
		case strings.TrimSpace(key) != key || key == "":
			errs = append(errs, field.Invalid(path, key, "must not have keys that are empty, or begin or end with a space"))
		case slices.Contains(reservedVMXKeys(), strings.ToLower(key)):
			errs = append(errs, field.Forbidden(path.Key(key),
				"must not be set, because the provider writes bootstrap data and network configuration to this key: use the bootstrap configuration instead"))
		}
	}
	return errs
}

func validateTags(tags []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, tag := range tags {
		if !strings.HasPrefix(tag, tagURN) || len(tag) == len(tagURN) {
			errs = append(errs, field.Invalid(path.Index(i), tag,
				"must be the tag's ID, such as "+tagURN+"5736bf56-49f5-4667-b38c-b97e09dc9578:GLOBAL, not its name; govc tags.info shows it"))
		}
	}
	return errs
}

// validatePowerOff allows a timeout only if the mode waits for the guest.
func validatePowerOff(mode infrav1.VirtualMachinePowerOpMode, seconds int32, path *field.Path) field.ErrorList {
	if seconds == 0 || mode == infrav1.VirtualMachinePowerOpModeTrySoft {
		return nil
	}
	return field.ErrorList{field.Invalid(path.Child("guestSoftPowerOffTimeoutSeconds"), seconds,
		"may only be set if powerOffMode is trySoft: remove it, or set powerOffMode to trySoft")}
}
