// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func cloneToHub(src v1beta1.VirtualMachineCloneSpec, kept infrav1.VirtualMachineCloneSpec) infrav1.VirtualMachineCloneSpec {
	return infrav1.VirtualMachineCloneSpec{
		Template: src.Template, CloneMode: infrav1.CloneMode(src.CloneMode), Snapshot: src.Snapshot, Server: src.Server, Thumbprint: src.Thumbprint,
		Datacenter: src.Datacenter, Folder: src.Folder, Datastore: src.Datastore, StoragePolicyName: src.StoragePolicyName, ResourcePool: src.ResourcePool,
		Network: networkToHub(src.Network),
		NumCPUs: src.NumCPUs, NumCoresPerSocket: coresToHub(src.NumCoresPerSocket, kept.NumCoresPerSocket), Resources: src.Resources,
		MemoryMiB: src.MemoryMiB, DiskGiB: src.DiskGiB, AdditionalDisksGiB: src.AdditionalDisksGiB, CustomVMXKeys: src.CustomVMXKeys, TagIDs: src.TagIDs,
		PciDevices: conversion.Each(src.PciDevices, func(device v1beta1.PCIDeviceSpec) infrav1.PCIDeviceSpec { return infrav1.PCIDeviceSpec(device) }),
		OS:         src.OS, HardwareVersion: src.HardwareVersion,
		DataDisks: conversion.Each(src.DataDisks, func(disk v1beta1.VSphereDisk) infrav1.VSphereDisk { return infrav1.VSphereDisk(disk) }),
		NestedHV:  src.NestedHV, FtEncryptionMode: src.FtEncryptionMode, MigrateEncryption: src.MigrateEncryption,
		CryptoKeyID: src.CryptoKeyID, CryptoProfile: src.CryptoProfile,
	}
}

func cloneFromHub(src infrav1.VirtualMachineCloneSpec) v1beta1.VirtualMachineCloneSpec {
	return v1beta1.VirtualMachineCloneSpec{
		Template: src.Template, CloneMode: v1beta1.CloneMode(src.CloneMode), Snapshot: src.Snapshot, Server: src.Server, Thumbprint: src.Thumbprint,
		Datacenter: src.Datacenter, Folder: src.Folder, Datastore: src.Datastore, StoragePolicyName: src.StoragePolicyName, ResourcePool: src.ResourcePool,
		Network: networkFromHub(src.Network),
		NumCPUs: src.NumCPUs, NumCoresPerSocket: src.NumCoresPerSocket, Resources: src.Resources,
		MemoryMiB: src.MemoryMiB, DiskGiB: src.DiskGiB, AdditionalDisksGiB: src.AdditionalDisksGiB, CustomVMXKeys: src.CustomVMXKeys, TagIDs: src.TagIDs,
		PciDevices: conversion.Each(src.PciDevices, func(device infrav1.PCIDeviceSpec) v1beta1.PCIDeviceSpec { return v1beta1.PCIDeviceSpec(device) }),
		OS:         src.OS, HardwareVersion: src.HardwareVersion,
		DataDisks: conversion.Each(src.DataDisks, func(disk infrav1.VSphereDisk) v1beta1.VSphereDisk { return v1beta1.VSphereDisk(disk) }),
		NestedHV:  src.NestedHV, FtEncryptionMode: src.FtEncryptionMode, MigrateEncryption: src.MigrateEncryption,
		CryptoKeyID: src.CryptoKeyID, CryptoProfile: src.CryptoProfile,
	}
}

// coresToHub converts 0 to unset, its meaning in v1beta1, unless it comes from the hub, where 0 lets vSphere choose the number.
func coresToHub(now, kept *int32) *int32 {
	if now != nil && *now == 0 && !ptr.Equal(now, kept) {
		return nil
	}
	return now
}

// powerOffModeToHub reverts a mode that the defaults of v1beta1 have set.
func powerOffModeToHub(now, kept infrav1.VirtualMachinePowerOpMode, isKept bool) infrav1.VirtualMachinePowerOpMode {
	if isKept && kept == "" && now == infrav1.VirtualMachinePowerOpModeHard {
		return ""
	}
	return now
}

func machineSpecToHub(src v1beta1.VSphereMachineSpec, kept infrav1.VSphereMachineSpec) infrav1.VSphereMachineSpec {
	spec := infrav1.VSphereMachineSpec{
		VirtualMachineCloneSpec:         cloneToHub(src.VirtualMachineCloneSpec, kept.VirtualMachineCloneSpec),
		ProviderID:                      conversion.Value(src.ProviderID),
		PowerOffMode:                    powerOffModeToHub(src.PowerOffMode, kept.PowerOffMode, kept.Template != ""),
		GuestSoftPowerOffTimeoutSeconds: conversion.Seconds(src.GuestSoftPowerOffTimeout),
	}
	if src.NamingStrategy != nil {
		spec.Naming.Template = conversion.Value(src.NamingStrategy.Template)
	}
	return spec
}

func machineSpecFromHub(src infrav1.VSphereMachineSpec) v1beta1.VSphereMachineSpec {
	spec := v1beta1.VSphereMachineSpec{
		VirtualMachineCloneSpec:  cloneFromHub(src.VirtualMachineCloneSpec),
		ProviderID:               conversion.Pointer(src.ProviderID),
		PowerOffMode:             src.PowerOffMode,
		GuestSoftPowerOffTimeout: conversion.Duration(src.GuestSoftPowerOffTimeoutSeconds),
	}
	if src.Naming.Template != "" {
		spec.NamingStrategy = &v1beta1.VSphereVMNamingStrategy{Template: &src.Naming.Template}
	}
	return spec
}

func machineStatusToHub(src v1beta1.VSphereMachineStatus, kept infrav1.VSphereMachineStatus) infrav1.VSphereMachineStatus {
	return infrav1.VSphereMachineStatus{
		Conditions:     conditionsToHub(src.V1Beta2),
		Initialization: infrav1.VSphereMachineInitializationStatus{Provisioned: src.Ready},
		FailureDomain:  kept.FailureDomain, Addresses: src.Addresses,
		Network: conversion.Each(src.Network, networkStatusToHub), Deprecated: failureToHub(src.Conditions, src.FailureReason, src.FailureMessage),
	}
}

func machineStatusFromHub(src infrav1.VSphereMachineStatus) v1beta1.VSphereMachineStatus {
	conditions, reason, message := failureFromHub(src.Deprecated)
	return v1beta1.VSphereMachineStatus{
		Ready: src.Initialization.Provisioned, Addresses: src.Addresses,
		Network: conversion.Each(src.Network, networkStatusFromHub), FailureReason: reason, FailureMessage: message, Conditions: conditions,
		V1Beta2: conditionsFromHub(src.Conditions),
	}
}

func vmSpecToHub(src v1beta1.VSphereVMSpec, kept infrav1.VSphereVMSpec) infrav1.VSphereVMSpec {
	spec := infrav1.VSphereVMSpec{
		VirtualMachineCloneSpec:         cloneToHub(src.VirtualMachineCloneSpec, kept.VirtualMachineCloneSpec),
		Placement:                       kept.Placement,
		BiosUUID:                        src.BiosUUID,
		PowerOffMode:                    powerOffModeToHub(src.PowerOffMode, kept.PowerOffMode, kept.Template != ""),
		GuestSoftPowerOffTimeoutSeconds: conversion.Seconds(src.GuestSoftPowerOffTimeout),
	}
	if src.BootstrapRef != nil {
		spec.BootstrapRef.Name = src.BootstrapRef.Name
	}
	return spec
}

func vmSpecFromHub(src infrav1.VSphereVMSpec, namespace string) v1beta1.VSphereVMSpec {
	spec := v1beta1.VSphereVMSpec{
		VirtualMachineCloneSpec:  cloneFromHub(src.VirtualMachineCloneSpec),
		BiosUUID:                 src.BiosUUID,
		PowerOffMode:             src.PowerOffMode,
		GuestSoftPowerOffTimeout: conversion.Duration(src.GuestSoftPowerOffTimeoutSeconds),
	}
	if src.BootstrapRef.Name != "" {
		spec.BootstrapRef = &corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Name: src.BootstrapRef.Name, Namespace: namespace}
	}
	return spec
}

func vmStatusToHub(src v1beta1.VSphereVMStatus, kept infrav1.VSphereVMStatus) infrav1.VSphereVMStatus {
	status := infrav1.VSphereVMStatus{
		Conditions: conditionsToHub(src.V1Beta2), Host: src.Host, FailureDomain: kept.FailureDomain, Ready: src.Ready,
		Addresses: src.Addresses, CloneMode: infrav1.CloneMode(src.CloneMode), Snapshot: src.Snapshot, RetryAfter: src.RetryAfter, TaskRef: src.TaskRef,
		TemplateRef: kept.TemplateRef, Network: conversion.Each(src.Network, networkStatusToHub),
		ModuleUUID: src.ModuleUUID, VMRef: src.VMRef, Deprecated: failureToHub(src.Conditions, src.FailureReason, src.FailureMessage),
	}
	if src.TaskRef == kept.TaskRef {
		status.TaskOperation = kept.TaskOperation
	}
	return status
}

func vmStatusFromHub(src infrav1.VSphereVMStatus) v1beta1.VSphereVMStatus {
	conditions, reason, message := failureFromHub(src.Deprecated)
	return v1beta1.VSphereVMStatus{
		Host: src.Host, Ready: src.Ready, Addresses: src.Addresses, CloneMode: v1beta1.CloneMode(src.CloneMode), Snapshot: src.Snapshot,
		RetryAfter: src.RetryAfter, TaskRef: src.TaskRef, Network: conversion.Each(src.Network, networkStatusFromHub),
		FailureReason: reason, FailureMessage: message, Conditions: conditions, ModuleUUID: src.ModuleUUID, VMRef: src.VMRef, V1Beta2: conditionsFromHub(src.Conditions),
	}
}
