// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Candidates returns the virtual machines with the instance UUID, the BIOS UUID or the reference, each once. vCenter does not
// keep BIOS UUIDs unique, so several machines can have the same one, for example a copy that was registered or restored. From
// now on the session follows what their guests report, and VMChanged events report changes.
func (s *Session) Candidates(instanceUUID, biosUUID, vmRef string) []inventory.VM {
	found := s.index.Candidates(instanceUUID, biosUUID, inventory.ParseRef("VirtualMachine", vmRef))
	for i := range found {
		s.stream.Want(inventory.ParseRef("VirtualMachine", found[i].Ref), found[i].Power)
	}
	return found
}

// Unfinished returns the virtual machines with a name whose UUIDs vCenter does not report, or not yet.
func (s *Session) Unfinished(name string) []inventory.VM {
	return s.index.Unfinished(name)
}

// VMByRef returns a virtual machine by reference.
func (s *Session) VMByRef(vmRef string) (inventory.VM, bool) {
	return s.index.VMOf(inventory.ParseRef("VirtualMachine", vmRef))
}

// VMInFolder returns a virtual machine or template that is directly in a folder.
func (s *Session) VMInFolder(folderRef, name string) (inventory.VM, bool) {
	return s.index.VMIn(inventory.ParseRef("Folder", folderRef), name)
}

// Locate returns where a virtual machine is now, or a zero Location if it no longer exists.
func (s *Session) Locate(vm inventory.VM) inventory.Location {
	return s.index.Locate(inventory.ParseRef("VirtualMachine", vm.Ref))
}

// StrandedOutside returns why a virtual machine that is powered on now would run outside of its host group: its host is not a
// member, and DRS, which would choose another, is off or only makes recommendations. It returns "" if the machine would run
// inside.
func (s *Session) StrandedOutside(vm inventory.VM, hostGroup string) string {
	if hostGroup == "" {
		return ""
	}
	return s.index.StrandedOutside(vm, hostGroup)
}

// Changes counts the changes of inventory objects since the session began, including those of a compute cluster's hosts.
// Joining a VM group does not count.
func (s *Session) Changes(refs ...string) int { return s.index.ChangesOf(refs...) }

// Resolve looks up what a placement names, without a call. Its error joins one *LookupError for each invalid field.
func (s *Session) Resolve(p inventory.Placement) (inventory.Resolved, error) {
	return inventory.Resolve(s.index, p)
}

// Template finds a template by instance UUID, inventory path or name. It may be a plain virtual machine, and with a path from
// the root it may be in another datacenter. If it is not found, an InventoryChanged event follows when that may have changed.
func (s *Session) Template(datacenter, nameOrPathOrUUID string) (inventory.VM, error) {
	return inventory.Template(s.index, datacenter, nameOrPathOrUUID)
}
