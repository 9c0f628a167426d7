// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"fmt"
	"math"
	"regexp"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

// hardwareVersion matches a version of virtual hardware.
var hardwareVersion = regexp.MustCompile(`^vmx-[1-9][0-9]?$`)

// validateHardware validates the virtual hardware.
func validateHardware(spec infrav1.VirtualMachineCloneSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if version := spec.HardwareVersion; version != "" && !hardwareVersion.MatchString(version) {
		errs = append(errs, field.Invalid(path.Child("hardwareVersion"), version, "must be a virtual hardware version, for example vmx-19"))
	}
	for i, device := range spec.PciDevices {
		errs = append(errs, validatePCIDevice(device, path.Child("pciDevices").Index(i))...)
	}
	return errs
}

func validatePCIDevice(device infrav1.PCIDeviceSpec, path *field.Path) field.ErrorList {
	passed := device.DeviceID != nil && device.VendorID != nil
	shared := device.VGPUProfile != "" && device.DeviceID == nil && device.VendorID == nil
	if !shared && (!passed || device.VGPUProfile != "") {
		return field.ErrorList{field.Invalid(path, describe(device), "must have either deviceId and vendorId, or vGPUProfile")}
	}
	var errs field.ErrorList
	for _, part := range numbers(device) {
		if *part.number < 0 || *part.number > math.MaxUint16 {
			errs = append(errs, field.Invalid(path.Child(part.name), *part.number, "must be a PCI ID from 0 to 65535 in decimal; the host's list of PCI devices shows it in hexadecimal"))
		}
	}
	return errs
}

// describe formats a device for a message; the default format would show its pointers as addresses.
func describe(device infrav1.PCIDeviceSpec) string {
	text := ""
	for _, part := range numbers(device) {
		text += fmt.Sprintf("%s: %d, ", part.name, *part.number)
	}
	return fmt.Sprintf("%svGPUProfile: %q", text, device.VGPUProfile)
}

type pciNumber struct {
	name   string
	number *int32
}

// numbers returns the numbers that a device sets.
func numbers(device infrav1.PCIDeviceSpec) []pciNumber {
	both := []pciNumber{{"deviceId", device.DeviceID}, {"vendorId", device.VendorID}}
	return slices.DeleteFunc(both, func(n pciNumber) bool { return n.number == nil })
}

func warnHardware(spec infrav1.VirtualMachineCloneSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	for i, device := range spec.PciDevices {
		if device.VGPUProfile != "" && device.CustomLabel != "" {
			warnings = append(warnings, rules.Warning(path.Child("pciDevices").Index(i).Child("customLabel"), "has no effect together with vGPUProfile"))
		}
	}
	return warnings
}

// validateGuestName rejects names that Windows would truncate, which could give two machines the same name.
func validateGuestName(name string, os infrav1.OS, path *field.Path) field.ErrorList {
	if os != infrav1.Windows || len(name) <= infrav1.MaxWindowsNameLength {
		return nil
	}
	return field.ErrorList{field.Invalid(path, name, fmt.Sprintf(
		"must have at most %d characters if os is %s", infrav1.MaxWindowsNameLength, infrav1.Windows))}
}
