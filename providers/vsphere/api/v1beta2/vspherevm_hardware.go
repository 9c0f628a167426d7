// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Reasons of condition VirtualMachineProvisioned of a VSphereVM that concern
// its hardware.
const (
	// VSphereVMVirtualMachineUpgradingHardwareReason: the machine is being
	// upgraded to spec.hardwareVersion.
	VSphereVMVirtualMachineUpgradingHardwareReason = "UpgradingHardware"

	// VSphereVMVirtualMachineHardwareVersionNotSupportedReason: vCenter does not
	// upgrade the machine to spec.hardwareVersion.
	VSphereVMVirtualMachineHardwareVersionNotSupportedReason = "HardwareVersionNotSupported"

	// VSphereVMVirtualMachineAddingPCIDevicesReason: the devices of
	// spec.pciDevices are being added.
	VSphereVMVirtualMachineAddingPCIDevicesReason = "AddingPCIDevices"

	// VSphereVMVirtualMachinePCIDevicesUnavailableReason: no host has the devices
	// of spec.pciDevices free.
	VSphereVMVirtualMachinePCIDevicesUnavailableReason = "PCIDevicesUnavailable"
)

// Condition PCIDevicesDetached of a VSphereVM. It is not part of Ready: a
// machine runs without its devices, though not as it was meant to.
const (
	// VSphereVMPCIDevicesDetachedCondition is False as long as a machine that
	// runs lacks devices of spec.pciDevices, and absent otherwise.
	VSphereVMPCIDevicesDetachedCondition = "PCIDevicesDetached"

	// VSphereVMPCIDevicesDetachedNotFoundReason: the machine lacks devices.
	VSphereVMPCIDevicesDetachedNotFoundReason = "NotFound"
)
