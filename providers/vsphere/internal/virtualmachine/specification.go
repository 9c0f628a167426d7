// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// Found holds the vCenter objects that a virtual machine's spec names, and its bootstrap data.
type Found struct {
	Template    vcenter.VM
	Placement   vcenter.Resolved
	Linked      bool
	Policies    vcenter.Policies
	ExtraConfig map[string]string
}

// CloneSpec returns the specification of the clone.
func CloneSpec(vm *infrav1.VSphereVM, found Found) vcenter.CloneSpec {
	spec := vm.Spec
	values := map[string]string{}
	maps.Copy(values, spec.CustomVMXKeys)
	maps.Copy(values, found.ExtraConfig)
	return vcenter.CloneSpec{
		Name: vm.Name, InstanceUUID: string(vm.UID), Template: found.Template, Snapshot: spec.Snapshot,
		Annotation: Marker(vm),
		Linked:     found.Linked, Placement: found.Placement, NumCPUs: spec.NumCPUs, CoresPerSocket: spec.NumCoresPerSocket,
		MemoryMiB: spec.MemoryMiB, DiskGiB: spec.DiskGiB, NestedHV: spec.NestedHV,
		FurtherGiB: spec.AdditionalDisksGiB, DataDisks: dataDisks(spec.DataDisks), Policies: found.Policies,
		CPU: processors(spec.Resources), Memory: memory(spec.Resources), Encryption: encryption(spec),
		NICs: nics(spec.Network.Devices, found.Placement.Networks), ExtraConfig: values,
	}
}

// PlacementOf returns the placement in the spec of a virtual machine.
func PlacementOf(vm *infrav1.VSphereVM) vcenter.Placement {
	spec := vm.Spec
	return vcenter.Placement{
		Datacenter: spec.Datacenter, ComputeCluster: spec.Placement.ComputeCluster, ResourcePool: spec.ResourcePool,
		Folder: spec.Folder, Datastore: spec.Datastore, Networks: networkNames(spec.Network.Devices),
		VMGroup: spec.Placement.VMGroupName, HostGroup: spec.Placement.HostGroupName, Name: vm.Name,
		PoolIfThere: ptr.Deref(spec.Placement.MachineResourcePool, false),
	}
}

func nics(devices []infrav1.NetworkDeviceSpec, backings []vcenter.NetworkBacking) []vcenter.NICSpec {
	specs := make([]vcenter.NICSpec, len(devices))
	for i := range devices {
		specs[i] = vcenter.NICSpec{Network: backings[i], MAC: devices[i].MACAddr}
	}
	return specs
}

func networkNames(devices []infrav1.NetworkDeviceSpec) []string {
	names := make([]string, len(devices))
	for i := range devices {
		names[i] = devices[i].NetworkName
	}
	return names
}

// WithoutAddress returns the first device that gets no address.
func WithoutAddress(devices []infrav1.NetworkDeviceSpec) (int, bool) {
	i := slices.IndexFunc(devices, func(d infrav1.NetworkDeviceSpec) bool {
		return !ptr.Deref(d.DHCP4, false) && !ptr.Deref(d.DHCP6, false) && len(d.IPAddrs) == 0 && len(d.AddressesFromPools) == 0 &&
			!ptr.Deref(d.SkipIPAllocation, false)
	})
	return i, i >= 0
}

// SizeGiB returns the maximum size of a machine's disks, as far as the spec states it.
func SizeGiB(spec infrav1.VirtualMachineCloneSpec) int64 {
	size := int64(spec.DiskGiB)
	for _, further := range spec.AdditionalDisksGiB {
		size += int64(further)
	}
	for _, disk := range spec.DataDisks {
		size += int64(disk.SizeGiB)
	}
	return size
}

func dataDisks(disks []infrav1.VSphereDisk) []vcenter.DataDisk {
	specs := make([]vcenter.DataDisk, len(disks))
	for i, disk := range disks {
		specs[i] = vcenter.DataDisk{Name: disk.Name, SizeGiB: disk.SizeGiB, Provisioning: vcenter.Provisioning(disk.ProvisioningMode)}
	}
	return specs
}

func processors(resources infrav1.VirtualMachineResources) vcenter.Allocation {
	const megahertz = 1_000_000
	return vcenter.Allocation{
		Reservation: roundedUp(resources.Requests.CPU, megahertz),
		Limit:       roundedUp(resources.Limits.CPU, megahertz),
		Shares:      resources.Shares.CPU,
	}
}

func memory(resources infrav1.VirtualMachineResources) vcenter.Allocation {
	const mebibyte = 1 << 20
	return vcenter.Allocation{
		Reservation: roundedUp(resources.Requests.Memory, mebibyte),
		Limit:       roundedUp(resources.Limits.Memory, mebibyte),
		Shares:      resources.Shares.Memory,
	}
}

// roundedUp converts a quantity to another unit, rounded up because the request is a minimum.
func roundedUp(quantity resource.Quantity, unit int64) int64 {
	value := quantity.Value()
	whole := value / unit
	if value%unit > 0 {
		whole++
	}
	return whole
}

func encryption(spec infrav1.VSphereVMSpec) vcenter.Encryption {
	return vcenter.Encryption{
		FaultTolerance: string(spec.FtEncryptionMode), Migration: string(spec.MigrateEncryption), Key: spec.CryptoKeyID,
	}
}

// DevicesOf returns the host devices that a spec names.
func DevicesOf(specs []infrav1.PCIDeviceSpec) []vcenter.PCIDevice {
	devices := make([]vcenter.PCIDevice, len(specs))
	for i, spec := range specs {
		if devices[i].VGPUProfile = spec.VGPUProfile; spec.VGPUProfile == "" {
			devices[i] = vcenter.PCIDevice{VendorID: ptr.Deref(spec.VendorID, 0), DeviceID: ptr.Deref(spec.DeviceID, 0), Label: spec.CustomLabel}
		}
	}
	return devices
}
