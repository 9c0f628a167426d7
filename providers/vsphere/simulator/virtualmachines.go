// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/vmware/govmomi/vim25/types"

// What can befall a virtual machine behind the back of every client. VMs are given
// as for PowerOffVM.

// RegisterCopy registers a copy of a VM under another name in the same folder, as
// one of a storage snapshot or a backup: switched off, with the BIOS UUID, the
// notes and the settings of the original, and an instance UUID of its own.
func (s *Server) RegisterCopy(vm, name string) error { return s.machines.RegisterCopy(vm, name) }

// SetNotes replaces the notes of a VM.
func (s *Server) SetNotes(vm, notes string) error { return s.machines.SetNotes(vm, notes) }

// SetConnectionState makes vCenter unable to manage a VM, whatever its host does:
// orphaned, inaccessible or invalid. It can neither be switched on, changed nor
// deleted, but unregistered when it is off. An orphaned one is off for all that
// vCenter knows, and cannot be switched off. Of one whose files it cannot read
// vCenter does not know the UUIDs.
func (s *Server) SetConnectionState(vm string, state types.VirtualMachineConnectionState) error {
	return s.machines.SetConnectionState(vm, state)
}

// PowerOffVM switches a VM off, behind the back of every client. The VM is given
// by its name if that is unique, its reference or its inventory path.
func (s *Server) PowerOffVM(vm string) error { return s.machines.PowerOff(vm) }

// DestroyVM deletes a VM or template, switched on or not, behind the back of every
// client. The VM is given as for PowerOffVM.
func (s *Server) DestroyVM(vm string) error { return s.machines.Destroy(vm) }

// MoveVMToHost moves a VM, given as for PowerOffVM, to another host of its cluster,
// whatever the rules say.
func (s *Server) MoveVMToHost(vm, host string) error { return s.machines.MoveToHost(vm, host) }

// PowerOnFolder powers on the VMs directly in a folder, given by inventory path, and
// answers their references. Their guests boot as all do.
func (s *Server) PowerOnFolder(path string) ([]string, error) { return s.machines.PowerOnFolder(path) }

// NoteOnVM has another client of the vCenter change the notes of a VM, given by
// reference, as backup programs do around their work. It returns when the task has
// ended.
func (s *Server) NoteOnVM(ref, note string) error { return s.machines.NoteOn(ref, note) }

// RemovePCIDevices takes all devices of its host from a VM, behind the back of every client. The VM is given as for PowerOffVM.
func (s *Server) RemovePCIDevices(vm string) error { return s.machines.RemovePCIDevices(vm) }

// HideVM takes a VM out of its folder and of what property collectors find by any other way, although it exists, as when
// an account loses its permission on it. vcsim's own collector still finds it by way of its pool, its host or a container view.
func (s *Server) HideVM(vm string) error { return s.visibility.Hide(vm) }

// ShowVM undoes HideVM.
func (s *Server) ShowVM(vm string) error { return s.visibility.Show(vm) }

// HideClones makes clones that end from now on appear in no folder, as for an
// account that has no permission on what it makes. ShowVM undoes it for one.
func (s *Server) HideClones(hidden bool) { s.visibility.HideClones(hidden) }

// WithholdUUIDs makes clones that end from now on appear without their UUIDs, as a
// VM does that vCenter has not finished. RevealUUIDs shows those of one.
func (s *Server) WithholdUUIDs(withheld bool) { s.visibility.WithholdUUIDs(withheld) }

// RevealUUIDs undoes WithholdUUIDs for a VM.
func (s *Server) RevealUUIDs(vm string) error { return s.visibility.RevealUUIDs(vm) }
