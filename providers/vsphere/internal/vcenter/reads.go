// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Candidates returns the virtual machines that have the instance UUID, the BIOS UUID or the reference, each once. Of one
// BIOS UUID, which vCenter does not keep unique, there may be several: a copy that was registered or restored. What the
// guests report is followed from now on: VMChanged events tell of it.
func (s *Session) Candidates(instanceUUID, biosUUID, vmRef string) []inventory.VM {
	found := s.index.Candidates(instanceUUID, biosUUID, inventory.ParseRef("VirtualMachine", vmRef))
	for i := range found {
		s.stream.Want(inventory.ParseRef("VirtualMachine", found[i].Ref), found[i].Power)
	}
	return found
}

// Unfinished returns the virtual machines of a name that vCenter does not know the UUIDs of, or not yet.
func (s *Session) Unfinished(name string) []inventory.VM {
	return s.index.Unfinished(name)
}

// VMByRef finds a virtual machine by reference.
func (s *Session) VMByRef(vmRef string) (inventory.VM, bool) {
	return s.index.VMOf(inventory.ParseRef("VirtualMachine", vmRef))
}

// VMInFolder finds a virtual machine or template directly in a folder.
func (s *Session) VMInFolder(folderRef, name string) (inventory.VM, bool) {
	return s.index.VMIn(inventory.ParseRef("Folder", folderRef), name)
}

// Locate says where a virtual machine is now, and nothing if it is gone.
func (s *Session) Locate(vm inventory.VM) inventory.Location {
	return s.index.Locate(inventory.ParseRef("VirtualMachine", vm.Ref))
}

// StrandedOutside says why a virtual machine that is powered on now would run outside of its host group: its host is no
// member, and DRS, which would choose another, is off or only gives advice. It returns "" when there is nothing to fear.
func (s *Session) StrandedOutside(vm inventory.VM, hostGroup string) string {
	if hostGroup == "" {
		return ""
	}
	return s.index.StrandedOutside(vm, hostGroup)
}

// Changes counts the changes of objects of the inventory since the session began, those of a compute cluster's hosts
// included. Who joins a group of virtual machines is none.
func (s *Session) Changes(refs ...string) int { return s.index.ChangesOf(refs...) }

// Resolve finds what a placement names, without a call. Its error joins one *LookupError for each field that is wrong.
func (s *Session) Resolve(p inventory.Placement) (inventory.Resolved, error) {
	return inventory.Resolve(s.index, p)
}

// Template finds what to clone by instance UUID, inventory path or name. It may be a plain virtual machine, and with a path
// from the root lie in another datacenter. When it is not found, an InventoryChanged event follows once that may have
// changed.
func (s *Session) Template(datacenter, nameOrPathOrUUID string) (inventory.VM, error) {
	return inventory.Template(s.index, datacenter, nameOrPathOrUUID)
}
