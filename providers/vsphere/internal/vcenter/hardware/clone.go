// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"cmp"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
)

// CloneSpec describes a virtual machine to create from a template.
type CloneSpec struct {
	Name, InstanceUUID, Annotation string

	Template inventory.VM
	// Linked requests a clone that shares the disks of a snapshot: Snapshot, or the template's current one. If Snapshot is
	// empty and the template has no snapshot, it is cloned in full: see Template.Snapshot.
	Linked   bool
	Snapshot string

	Placement      inventory.Resolved
	NumCPUs        int32   // at least limits.MinCPUs
	CoresPerSocket *int32  // nil: all processors in one socket; 0: vSphere 8 chooses when the machine is powered on
	MemoryMiB      int64   // at least limits.MinMemoryMiB
	DiskGiB        int32   // size of the first disk; 0 leaves it. Ignored for a linked clone, whose disks cannot grow
	FurtherGiB     []int32 // sizes of the template's other disks; as DiskGiB
	DataDisks      []DataDisk
	CPU, Memory    Allocation // in MHz and MiB
	Policies       Policies
	Encryption     Encryption
	NICs           []NICSpec
	ExtraConfig    map[string]string
	NestedHV       *bool // nil: as in the template
}

// Clone returns the specification for vCenter, without the encryption key, which the caller must look up.
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

// config returns the configuration of the clone. It always sets the cores per socket: vCenter rejects a number of processors
// that is not a multiple of the template's.
func (spec CloneSpec) config() *types.VirtualMachineConfigSpec {
	cpus := max(spec.NumCPUs, limits.MinCPUs)
	return &types.VirtualMachineConfigSpec{
		Annotation:   spec.Annotation,
		InstanceUuid: spec.InstanceUUID,
		NumCPUs:      cpus,
		MemoryMB:     max(spec.MemoryMiB, limits.MinMemoryMiB),

		NumCoresPerSocket: cmp.Or(spec.CoresPerSocket, &cpus),
		Flags:             &types.VirtualMachineFlagInfo{DiskUuidEnabled: types.NewBool(true)}, // volumes are found by disk UUID
		ExtraConfig:       ExtraConfig(spec.ExtraConfig),
		// With the properties of an imported appliance, vCenter would generate the guest's configuration.
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
