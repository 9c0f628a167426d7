// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package hardware

import (
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"
)

// Policies are the storage policies of a virtual machine, by identifier. Without any, vSphere's defaults apply: the template's
// policies for a full clone if the datastore has them, else the datastore's default.
type Policies struct {
	Home, Disks string
	// Encrypting is the name of the policy that encrypts the files of Home, or "" if Home does not encrypt.
	Encrypting string
}

// applyTo sets the policies in a clone specification. Added disks have their policy already.
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
