// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
)

// CloneSpec describes a virtual machine to be made from a template.
type CloneSpec struct {
	Name, InstanceUUID, Annotation string

	Template inventory.VM
	// Linked asks for a clone that shares the disks of a snapshot: Snapshot, or the template's current one. A template
	// without any is cloned in full unless Snapshot is named: see Template.Snapshot.
	Linked   bool
	Snapshot string

	Placement      inventory.Resolved
	NumCPUs        int32   // at least limits.MinCPUs
	CoresPerSocket *int32  // nil: all processors in one socket; 0: vSphere 8 chooses when the machine is powered on
	MemoryMiB      int64   // at least limits.MinMemoryMiB
	DiskGiB        int32   // size of the first disk; 0 leaves it. The disks of a linked clone cannot grow: ignored
	FurtherGiB     []int32 // sizes of the template's further disks; as DiskGiB
	DataDisks      []DataDisk
	CPU, Memory    Allocation // in MHz and MiB
	Policies       Policies
	Encryption     Encryption
	NICs           []NICSpec
	ExtraConfig    map[string]string
	NestedHV       *bool // nil: as the template
}

// Clone decides what to ask of vCenter. Encryption by a key is left out, which has to be looked up.
func (spec CloneSpec) Clone(template Template) (types.VirtualMachineCloneSpec, error) {
	clone := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{
			DiskMoveType: string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate),
			Folder:       optional(spec.Placement.FolderRef),
			Pool:         optional(spec.Placement.PoolRef),
			Host:         optional(spec.Placement.HostRef),
			Datastore:    optional(spec.Placement.DatastoreRef),
		},
		Config: spec.config(),
	}
	if spec.Linked {
		snapshot, err := template.Snapshot(spec.Snapshot)
		if err != nil {
			return clone, err
		}
		if snapshot != nil {
			clone.Snapshot = snapshot
			clone.Location.DiskMoveType = string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
		}
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	if clone.Snapshot == nil {
		disks, err := growDisks(template.Devices, spec.DiskGiB, spec.FurtherGiB)
		if err != nil {
			return clone, err
		}
		changes = append(changes, disks...)
	}
	added, err := addDisks(template, spec.DataDisks, spec.Policies.Disks)
	if err != nil {
		return clone, err
	}
	changes = append(changes, added...)
	spec.Policies.applyTo(&clone, template.Devices)
	changes = append(changes, replaceNICs(template.Devices, spec.NICs)...)
	clone.Config.DeviceChange = changes
	return clone, nil
}

// config never leaves the template's cores per socket: vCenter refuses a number of processors that is no multiple of it.
func (spec CloneSpec) config() *types.VirtualMachineConfigSpec {
	cpus := max(spec.NumCPUs, limits.MinCPUs)
	return &types.VirtualMachineConfigSpec{
		Annotation:   spec.Annotation,
		InstanceUuid: spec.InstanceUUID,
		NumCPUs:      cpus,
		MemoryMB:     max(spec.MemoryMiB, limits.MinMemoryMiB),

		NumCoresPerSocket: cmp.Or(spec.CoresPerSocket, &cpus),
		Flags:             &types.VirtualMachineFlagInfo{DiskUuidEnabled: types.NewBool(true)}, // volumes are found by it
		ExtraConfig:       ExtraConfig(spec.ExtraConfig),
		// Properties of an imported appliance would make vCenter answer for the guest's configuration.
		VAppConfigRemoved: types.NewBool(true),
		NestedHVEnabled:   spec.NestedHV,

		CpuAllocation:     spec.CPU.info(),
		MemoryAllocation:  spec.Memory.info(),
		FtEncryptionMode:  spec.Encryption.FaultTolerance,
		MigrateEncryption: spec.Encryption.Migration,
	}
}

func optional(s string) *inventory.Ref {
	if s == "" {
		return nil
	}
	r := inventory.ParseRef("", s)
	return &r
}
