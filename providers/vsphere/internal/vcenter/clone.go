// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"fmt"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/lookup"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/limits"
)

// CloneSpec describes a virtual machine to be made from a template.
type CloneSpec struct {
	Name, InstanceUUID, Annotation string

	Template inventory.VM
	// Linked asks for a clone that shares the disks of a snapshot: Snapshot, or the template's current one. A template
	// without any is cloned in full unless Snapshot is named: see Session.LinkedPossible.
	Linked   bool
	Snapshot string

	Placement      lookup.Resolved
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

// NICSpec describes a network card.
type NICSpec struct {
	Network lookup.NetworkBacking
	MAC     string // "": vCenter chooses
}

// CloneVM starts to clone and returns the task: one call, and another when the template has not been read or has
// changed. The virtual machine comes up powered off with the network cards of the spec only. ErrNoSnapshot and
// ErrInvalid say that the template cannot give what is asked.
func (s *Session) CloneVM(ctx context.Context, spec CloneSpec) (string, error) {
	template, err := s.template(ctx, inventory.ParseRef("VirtualMachine", spec.Template.Ref))
	if err != nil {
		return "", err
	}
	clone, err := cloneSpec(spec, template)
	if err != nil {
		return "", fmt.Errorf("cloning template %s: %w", spec.Template.Path, err)
	}
	if err := s.encrypt(ctx, spec, clone.Config); err != nil {
		return "", err
	}
	task, err := s.start(ctx, "cloning template "+spec.Template.Path, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.CloneVM_Task(ctx, rt, &types.CloneVM_Task{
			This: template.ref, Folder: inventory.ParseRef("Folder", spec.Placement.FolderRef), Name: spec.Name, Spec: clone,
		})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
	if err != nil {
		s.templates.forget(template.ref)
	}
	return task, err
}

// LinkedPossible says whether CloneVM can make a linked clone on a datastore. A snapshot that is named but missing is
// ErrNoSnapshot, and one that cannot be cloned from there ErrInvalid.
func (s *Session) LinkedPossible(ctx context.Context, template inventory.VM, snapshot, datastoreRef string) (bool, error) {
	read, err := s.template(ctx, inventory.ParseRef("VirtualMachine", template.Ref))
	if err != nil {
		return false, err
	}
	found, err := read.snapshot(snapshot)
	if err != nil || found == nil {
		return false, err
	}
	bound := s.index.BoundTo(read.devices, inventory.ParseRef("Datastore", datastoreRef))
	if bound != "" && snapshot != "" {
		return false, fmt.Errorf("%w: no linked clone of snapshot %q of template %s can be made there: %s; place the machine on that datastore, "+
			"or set cloneMode to fullClone", vcerrors.ErrInvalid, snapshot, template.Path, bound)
	}
	return bound == "", nil
}

// cloneSpec decides what to ask of vCenter.
func cloneSpec(spec CloneSpec, template templateData) (types.VirtualMachineCloneSpec, error) {
	clone := types.VirtualMachineCloneSpec{
		Location: types.VirtualMachineRelocateSpec{
			DiskMoveType: string(types.VirtualMachineRelocateDiskMoveOptionsMoveAllDiskBackingsAndConsolidate),
			Folder:       optional(spec.Placement.FolderRef),
			Pool:         optional(spec.Placement.PoolRef),
			Host:         optional(spec.Placement.HostRef),
			Datastore:    optional(spec.Placement.DatastoreRef),
		},
		Config: configSpec(spec),
	}
	if spec.Linked {
		snapshot, err := template.snapshot(spec.Snapshot)
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
		disks, err := growDisks(template.devices, spec.DiskGiB, spec.FurtherGiB)
		if err != nil {
			return clone, err
		}
		changes = append(changes, disks...)
	}
	added, err := addDisks(template.devices, spec.DataDisks, spec.Policies.Disks)
	if err != nil {
		return clone, err
	}
	changes = append(changes, added...)
	spec.Policies.applyTo(&clone, template.devices)
	changes = append(changes, replaceNICs(template.devices, spec.NICs)...)
	clone.Config.DeviceChange = changes
	return clone, nil
}

// configSpec never leaves the template's cores per socket: vCenter refuses a number of processors that is no multiple of it.
func configSpec(spec CloneSpec) *types.VirtualMachineConfigSpec {
	cpus := max(spec.NumCPUs, limits.MinCPUs)
	return &types.VirtualMachineConfigSpec{
		Annotation:   spec.Annotation,
		InstanceUuid: spec.InstanceUUID,
		NumCPUs:      cpus,
		MemoryMB:     max(spec.MemoryMiB, limits.MinMemoryMiB),

		NumCoresPerSocket: cmp.Or(spec.CoresPerSocket, &cpus),
		Flags:             &types.VirtualMachineFlagInfo{DiskUuidEnabled: types.NewBool(true)}, // volumes are found by it
		ExtraConfig:       extraConfig(spec.ExtraConfig),
		// Properties of an imported appliance would make vCenter answer for the guest's configuration.
		VAppConfigRemoved: types.NewBool(true),
		NestedHVEnabled:   spec.NestedHV,

		CpuAllocation:     spec.CPU.info(),
		MemoryAllocation:  spec.Memory.info(),
		FtEncryptionMode:  spec.Encryption.FaultTolerance,
		MigrateEncryption: spec.Encryption.Migration,
	}
}

func replaceNICs(devices object.VirtualDeviceList, nics []NICSpec) []types.BaseVirtualDeviceConfigSpec {
	var changes []types.BaseVirtualDeviceConfigSpec
	for _, old := range devices.SelectByType((*types.VirtualEthernetCard)(nil)) {
		changes = append(changes, &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationRemove, Device: old})
	}
	for i, nic := range nics {
		card := types.VirtualEthernetCard{
			VirtualDevice: types.VirtualDevice{
				Key:     -200 - int32(i), // temporary; new devices only need distinct negative ones
				Backing: cardBacking(nic.Network),
				Connectable: &types.VirtualDeviceConnectInfo{
					StartConnected: true, AllowGuestControl: true, Connected: true,
				},
			},
		}
		if nic.MAC != "" {
			card.MacAddress, card.AddressType = nic.MAC, string(types.VirtualEthernetCardMacTypeManual)
		}
		changes = append(changes, &types.VirtualDeviceConfigSpec{
			Operation: types.VirtualDeviceConfigSpecOperationAdd,
			Device:    &types.VirtualVmxnet3{VirtualVmxnet: types.VirtualVmxnet{VirtualEthernetCard: card}},
		})
	}
	return changes
}

func cardBacking(network lookup.NetworkBacking) types.BaseVirtualDeviceBackingInfo {
	switch {
	case network.PortgroupKey != "":
		return &types.VirtualEthernetCardDistributedVirtualPortBackingInfo{Port: types.DistributedVirtualSwitchPortConnection{
			PortgroupKey: network.PortgroupKey, SwitchUuid: network.SwitchUUID,
		}}
	case network.OpaqueID != "":
		return &types.VirtualEthernetCardOpaqueNetworkBackingInfo{
			OpaqueNetworkId: network.OpaqueID, OpaqueNetworkType: network.OpaqueType,
		}
	}
	return &types.VirtualEthernetCardNetworkBackingInfo{
		VirtualDeviceDeviceBackingInfo: types.VirtualDeviceDeviceBackingInfo{DeviceName: network.Name},
		Network:                        optional(network.Ref),
	}
}

func optional(s string) *inventory.Ref {
	if s == "" {
		return nil
	}
	r := inventory.ParseRef("", s)
	return &r
}
