// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"fmt"
	"slices"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// DataDisk is a disk added to those of the template.
type DataDisk struct {
	Name         string // distinguishes the disk; vCenter does not use it
	SizeGiB      int32
	Provisioning Provisioning
}

// Provisioning is the provisioning type of a disk.
type Provisioning string

// Provisioning types. If empty, the disk's storage policy decides.
const (
	ThinDisk          Provisioning = "Thin"
	ThickDisk         Provisioning = "Thick"
	EagerlyZeroedDisk Provisioning = "EagerlyZeroed"
)

// Number of units of a controller, including the unit of the controller itself on a SCSI bus.
const (
	paravirtualUnits = 64 // with hardware version 14 (vSphere 6.7) or later
	scsiUnits        = 16
	sataUnits        = 30
	nvmeUnits        = 15
	ideUnits         = 2
	scsiControllerAt = 7
)

// growDisks enlarges the disks of a template: the first one, and those that follow. A size of 0 leaves a disk unchanged.
func growDisks(devices object.VirtualDeviceList, first int32, further []int32) ([]types.BaseVirtualDeviceConfigSpec, error) {
	disks := devices.SelectByType((*types.VirtualDisk)(nil))
	if first != 0 && len(disks) == 0 {
		return nil, fmt.Errorf("%w: diskGiB is %d, but the template has no disk", vcerrors.ErrInvalid, first)
	}
	if there := max(len(disks)-1, 0); len(further) > there {
		return nil, fmt.Errorf("%w: additionalDisksGiB has %d sizes, but the template has %d disks after the first one: "+
			"remove the others, or add disks with dataDisks", vcerrors.ErrInvalid, len(further), there)
	}
	var changes []types.BaseVirtualDeviceConfigSpec
	for i, size := range append([]int32{first}, further...) {
		if size == 0 {
			continue
		}
		field := "diskGiB"
		if i > 0 {
			field = fmt.Sprintf("additionalDisksGiB[%d]", i-1)
		}
		change, err := growDisk(*disks[i].(*types.VirtualDisk), size, field) // selected by this type
		if err != nil {
			return nil, err
		}
		if change != nil {
			changes = append(changes, change)
		}
	}
	return changes, nil
}

func growDisk(disk types.VirtualDisk, sizeGiB int32, field string) (types.BaseVirtualDeviceConfigSpec, error) {
	now, want := capacity(&disk), int64(sizeGiB)<<30
	switch {
	case want < now:
		return nil, fmt.Errorf("%w: %s is %d, less than the %.3g GiB of the template's disk, and a disk cannot shrink",
			vcerrors.ErrInvalid, field, sizeGiB, float64(now)/(1<<30))
	case want == now:
		return nil, nil //nolint:nilnil // nothing to change, and nothing wrong
	}
	disk.CapacityInKB, disk.CapacityInBytes = want>>10, want
	return &types.VirtualDeviceConfigSpec{Operation: types.VirtualDeviceConfigSpecOperationEdit, Device: &disk}, nil
}

// capacity returns the size of a disk in bytes.
func capacity(disk *types.VirtualDisk) int64 { return max(disk.CapacityInBytes, disk.CapacityInKB<<10) }

// addDisks adds disks to the free units of the template's controllers. A clone has the template's hardware version; it is
// upgraded later.
func addDisks(template Template, disks []DataDisk, policy string) ([]types.BaseVirtualDeviceConfigSpec, error) {
	if len(disks) == 0 {
		return nil, nil
	}
	free := template.freeSlots()
	if len(free) < len(disks) {
		return nil, fmt.Errorf("%w: dataDisks has %d disks, but the template's controllers have capacity for %d: remove some, "+
			"or give the template a paravirtual SCSI controller and hardware version %s or later", vcerrors.ErrInvalid, len(disks), len(free), types.VMX14)
	}
	changes := make([]types.BaseVirtualDeviceConfigSpec, len(disks))
	for i, disk := range disks {
		changes[i] = &types.VirtualDeviceConfigSpec{
			Operation:     types.VirtualDeviceConfigSpecOperationAdd,
			FileOperation: types.VirtualDeviceConfigSpecFileOperationCreate,
			Profile:       profile(policy),
			Device: &types.VirtualDisk{
				VirtualDevice: types.VirtualDevice{
					Key:           -1000 - int32(i), // temporary, and distinct from those of network cards
					ControllerKey: free[i].controller,
					UnitNumber:    &free[i].unit,
					Backing:       disk.Provisioning.backing(),
				},
				CapacityInKB: int64(disk.SizeGiB) << 20, CapacityInBytes: int64(disk.SizeGiB) << 30,
			},
		}
	}
	return changes, nil
}

func (p Provisioning) backing() *types.VirtualDiskFlatVer2BackingInfo {
	backing := &types.VirtualDiskFlatVer2BackingInfo{DiskMode: string(types.VirtualDiskModePersistent)}
	switch p {
	case ThinDisk:
		backing.ThinProvisioned = types.NewBool(true)
	case ThickDisk:
		backing.ThinProvisioned = types.NewBool(false)
	case EagerlyZeroedDisk:
		backing.ThinProvisioned, backing.EagerlyScrub = types.NewBool(false), types.NewBool(true)
	}
	return backing
}

// diskSlot is a controller unit to which a disk can be attached.
type diskSlot struct{ controller, unit int32 }

// freeSlots returns the free units of the first disk's controller, then those of the other SCSI controllers. Guests number
// their disks in this order.
func (t Template) freeSlots() []diskSlot {
	devices := t.Devices
	var controllers object.VirtualDeviceList
	if disks := devices.SelectByType((*types.VirtualDisk)(nil)); len(disks) > 0 {
		if first := devices.FindByKey(disks[0].GetVirtualDevice().ControllerKey); first != nil {
			controllers = append(controllers, first)
		}
	}
	for _, controller := range devices.SelectByType((*types.VirtualSCSIController)(nil)) {
		if !slices.Contains(controllers, controller) {
			controllers = append(controllers, controller)
		}
	}
	var free []diskSlot
	for _, controller := range controllers {
		free = append(free, freeSlotsOf(controller, devices, t.unitsOf(controller))...)
	}
	return free
}

func freeSlotsOf(controller types.BaseVirtualDevice, devices object.VirtualDeviceList, units int32) []diskSlot {
	key, taken := controller.GetVirtualDevice().Key, map[int32]bool{}
	if scsi, ok := controller.(types.BaseVirtualSCSIController); ok {
		taken[scsiControllerAt] = true
		taken[scsi.GetVirtualSCSIController().ScsiCtlrUnitNumber] = true
	}
	for _, device := range devices {
		if d := device.GetVirtualDevice(); d.ControllerKey == key && d.UnitNumber != nil {
			taken[*d.UnitNumber] = true
		}
	}
	var free []diskSlot
	for unit := range units {
		if !taken[unit] {
			free = append(free, diskSlot{key, unit})
		}
	}
	return free
}

func (t Template) unitsOf(controller types.BaseVirtualDevice) int32 {
	switch controller.(type) {
	case *types.ParaVirtualSCSIController:
		if version, err := types.ParseHardwareVersion(t.Hardware); err == nil && version < types.VMX14 {
			return scsiUnits
		}
		return paravirtualUnits
	case types.BaseVirtualSCSIController:
		return scsiUnits
	case types.BaseVirtualSATAController:
		return sataUnits
	case *types.VirtualNVMEController:
		return nvmeUnits
	case *types.VirtualIDEController:
		return ideUnits
	}
	return 0
}
