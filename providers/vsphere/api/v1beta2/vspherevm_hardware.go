// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// Reasons of VSphereVM's VirtualMachineProvisioned condition for its hardware.
const (
	// VSphereVMVirtualMachineUpgradingHardwareReason surfaces while the machine is being upgraded to spec.hardwareVersion.
	VSphereVMVirtualMachineUpgradingHardwareReason = "UpgradingHardware"

	// VSphereVMVirtualMachineHardwareVersionNotSupportedReason surfaces when vCenter rejects the upgrade to
	// spec.hardwareVersion.
	VSphereVMVirtualMachineHardwareVersionNotSupportedReason = "HardwareVersionNotSupported"

	// VSphereVMVirtualMachineAddingPCIDevicesReason surfaces while the devices of spec.pciDevices are being added.
	VSphereVMVirtualMachineAddingPCIDevicesReason = "AddingPCIDevices"

	// VSphereVMVirtualMachinePCIDevicesUnavailableReason surfaces when no host has the devices of spec.pciDevices available.
	VSphereVMVirtualMachinePCIDevicesUnavailableReason = "PCIDevicesUnavailable"
)

// VSphereVM's PCIDevicesDetached condition and corresponding reasons. The condition is not part of Ready: a machine can run
// without its devices.
const (
	// VSphereVMPCIDevicesDetachedCondition is False while a running machine lacks devices of spec.pciDevices, and absent
	// otherwise.
	VSphereVMPCIDevicesDetachedCondition = "PCIDevicesDetached"

	// VSphereVMPCIDevicesDetachedNotFoundReason surfaces when the machine lacks devices.
	VSphereVMPCIDevicesDetachedNotFoundReason = "NotFound"
)
