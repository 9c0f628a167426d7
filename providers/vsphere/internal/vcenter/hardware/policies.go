// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// Policies are the storage policies of a virtual machine, by identifier. Without any, vSphere's defaults apply: of a full
// clone the template's policies, where the datastore has them, else the datastore's own.
type Policies struct {
	Home, Disks string
	// Encrypting is the name of the one that encrypts the files of Home; "" if that is none of Home's purposes.
	Encrypting string
}

// applyTo says which policy is for what. Disks that are added have theirs already.
func (p Policies) applyTo(clone *types.VirtualMachineCloneSpec, devices object.VirtualDeviceList) {
	switch {
	case p.Encrypting != "":
		clone.Config.VmProfile = profile(p.Home)
	case p.Home != "":
		clone.Location.Profile = profile(p.Home)
	}
	if p.Disks == "" || clone.Location.Datastore == nil {
		return
	}
	for _, disk := range devices.SelectByType((*types.VirtualDisk)(nil)) {
		clone.Location.Disk = append(clone.Location.Disk, types.VirtualMachineRelocateSpecDiskLocator{
			DiskId: disk.GetVirtualDevice().Key, Datastore: *clone.Location.Datastore, DiskMoveType: clone.Location.DiskMoveType,
			Profile: profile(p.Disks),
		})
	}
}

func profile(policy string) []types.BaseVirtualMachineProfileSpec {
	if policy == "" {
		return nil
	}
	return []types.BaseVirtualMachineProfileSpec{&types.VirtualMachineDefinedProfileSpec{ProfileId: policy}}
}
