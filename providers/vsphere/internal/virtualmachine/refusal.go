// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"errors"
	"fmt"
	"strings"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// Already reports whether an operation failed because the virtual machine is already in the requested state: another client has
// done it, or vCenter has but its response was lost.
func Already(doing infrav1.TaskOperation, err error) bool {
	switch doing {
	case infrav1.PowerOnOperation:
		return errors.Is(err, vcenter.ErrPoweredOn)
	case infrav1.PowerOffOperation:
		return errors.Is(err, vcenter.ErrPoweredOff)
	case infrav1.UpgradeHardwareOperation:
		return errors.Is(err, vcenter.ErrUpgraded)
	case infrav1.DestroyOperation:
		return errors.Is(err, vcenter.ErrNotFound)
	default:
		return false
	}
}

// UserMistake reports whether err requires the user to change something, here or in vCenter.
func UserMistake(err error) bool {
	for _, known := range []error{
		vcenter.ErrInvalid, vcenter.ErrNotFound, vcenter.ErrAmbiguous, vcenter.ErrNoSnapshot, vcenter.ErrForbidden,
		vcenter.ErrNoKeyProvider,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// InvalidReason returns the condition reason for an error.
func InvalidReason(err error) string {
	switch {
	case errors.Is(err, vcenter.ErrNoSnapshot):
		return infrav1.VSphereVMVirtualMachineSnapshotNotFoundReason
	case errors.Is(err, vcenter.ErrForbidden):
		return infrav1.VSphereVMVirtualMachinePrivilegeMissingReason
	case errors.Is(err, vcenter.ErrNoKeyProvider):
		return infrav1.VSphereVMVirtualMachineKeyProviderMissingReason
	}
	var lookup *vcenter.LookupError
	if !errors.As(err, &lookup) {
		return infrav1.VSphereVMVirtualMachineInvalidSpecReason
	}
	return lookupReason(lookup)
}

// lookupReason returns the reason for a field that matches no object, or no suitable one.
func lookupReason(lookup *vcenter.LookupError) string {
	if reason := storageReason(lookup); reason != "" {
		return reason
	}
	switch lookup.Field {
	case "template":
		return infrav1.VSphereVMVirtualMachineTemplateNotFoundReason
	case "datacenter":
		return infrav1.VSphereVMVirtualMachineDatacenterNotFoundReason
	case "computeCluster":
		return infrav1.VSphereVMVirtualMachineComputeClusterNotFoundReason
	case "resourcePool":
		return infrav1.VSphereVMVirtualMachineResourcePoolNotFoundReason
	case "folder":
		return infrav1.VSphereVMVirtualMachineFolderNotFoundReason
	case "datastore":
		return infrav1.VSphereVMVirtualMachineDatastoreNotFoundReason
	case "network":
		return infrav1.VSphereVMVirtualMachineNetworkNotFoundReason
	case "host":
		return infrav1.VSphereVMVirtualMachineNoUsableHostReason
	default:
		return infrav1.VSphereVMVirtualMachineInvalidSpecReason
	}
}

// NoEventFollows reports whether no event follows when err is resolved.
func NoEventFollows(err error) bool {
	var lookup *vcenter.LookupError
	return errors.Is(err, vcenter.ErrForbidden) || errors.As(err, &lookup) && storageReason(lookup) != ""
}

// storageReason returns the reason for a storage field, or "" for other fields.
func storageReason(lookup *vcenter.LookupError) string {
	switch lookup.Field {
	case vcenter.FieldStoragePolicy, vcenter.FieldCryptoProfile:
		if errors.Is(lookup, vcenter.ErrInvalid) {
			return infrav1.VSphereVMVirtualMachineNoCompatibleDatastoreReason
		}
		return infrav1.VSphereVMVirtualMachineStoragePolicyNotFoundReason
	case vcenter.FieldCryptoKey:
		return infrav1.VSphereVMVirtualMachineKeyNotFoundReason
	}
	return ""
}

// Refusal holds a condition's reason and message.
type Refusal struct{ Reason, Message string }

// HardwareRefused returns which field of the spec vCenter rejects, if that caused the failure of an operation on a machine in a
// compute cluster.
func HardwareRefused(spec infrav1.VSphereVMSpec, cluster string, doing infrav1.TaskOperation, err error) (Refusal, bool) {
	unsupported := errors.Is(err, vcenter.ErrUnsupported) || errors.Is(err, vcenter.ErrInvalid)
	switch {
	case doing == infrav1.UpgradeHardwareOperation && unsupported:
		return Refusal{infrav1.VSphereVMVirtualMachineHardwareVersionNotSupportedReason, fmt.Sprintf(
			"spec.hardwareVersion %s: %v: set a version that all hosts of compute cluster %s support in the VSphereMachineTemplate, or upgrade the hosts",
			spec.HardwareVersion, err, cluster)}, true
	case doing == infrav1.AddDevicesOperation && unsupported, doing == infrav1.PowerOnOperation && len(spec.PciDevices) > 0 && errors.Is(err, vcenter.ErrNoCapacity):
		return Refusal{infrav1.VSphereVMVirtualMachinePCIDevicesUnavailableReason, fmt.Sprintf(
			"spec.pciDevices %s: %v: free such devices, and the memory of the whole machine, on a host of compute cluster %s, or change pciDevices of the VSphereMachineTemplate",
			Listed(DevicesOf(spec.PciDevices)), err, cluster)}, true
	}
	return Refusal{}, false
}

// Listed returns the devices as text, each once with its count.
func Listed(devices []vcenter.PCIDevice) string {
	var names []string
	count := map[string]int{}
	for _, device := range devices {
		name := device.String()
		if count[name]++; count[name] == 1 {
			names = append(names, name)
		}
	}
	for i, name := range names {
		names[i] = fmt.Sprintf("%d x %s", count[name], name)
	}
	return strings.Join(names, ", ")
}

// Unmanageable returns why vCenter cannot manage a virtual machine. A disconnected host may return by itself; other problems
// last until the user fixes them.
func Unmanageable(vm vcenter.VM) (reason, why string) {
	if !vm.HostConnected {
		return infrav1.VSphereVMVirtualMachineWaitingForHostReason, fmt.Sprintf("Host %s of virtual machine %s is not responding", vm.Host, vm.Path)
	}
	reason = infrav1.VSphereVMVirtualMachineUnmanageableReason
	switch vm.Connection {
	case vcenter.Orphaned:
		return reason, fmt.Sprintf("Virtual machine %s is orphaned: it is no longer registered on host %s", vm.Path, vm.Host)
	case vcenter.Inaccessible:
		return reason, fmt.Sprintf("Virtual machine %s is inaccessible: host %s cannot read its files at %s", vm.Path, vm.Host, vm.File)
	case vcenter.Invalid:
		return reason, fmt.Sprintf("Virtual machine %s is invalid: host %s cannot parse its files at %s", vm.Path, vm.Host, vm.File)
	default:
		return infrav1.VSphereVMVirtualMachineWaitingForHostReason, fmt.Sprintf("vCenter has not connected to virtual machine %s on host %s yet", vm.Path, vm.Host)
	}
}

// ByHand returns how the user can remove a virtual machine that vCenter cannot manage and refuses to remove.
func ByHand(vm vcenter.VM) string {
	return fmt.Sprintf("make sure that it does not run on host %s, then remove it from vCenter's inventory", vm.Host)
}
