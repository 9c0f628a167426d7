// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "github.com/vmware/govmomi/vim25/types"

// Changes of a virtual machine made outside of the client under test. VMs are given as for PowerOffVM.

// RegisterCopy registers a copy of a VM under another name in the same folder, like a copy from a storage snapshot or a backup:
// powered off, with the BIOS UUID, the annotation and the settings of the original, and its own instance UUID.
func (s *Server) RegisterCopy(vm, name string) error { return s.machines.RegisterCopy(vm, name) }

// SetNotes replaces the annotation of a VM.
func (s *Server) SetNotes(vm, notes string) error { return s.machines.SetNotes(vm, notes) }

// SetConnectionState makes vCenter unable to manage a VM, whatever the state of its host: orphaned, inaccessible or invalid. The
// VM cannot be powered on, changed or deleted; it can be unregistered while it is off. An orphaned VM counts as off and cannot be
// powered off. If its files cannot be read, vCenter does not report its UUIDs.
func (s *Server) SetConnectionState(vm string, state types.VirtualMachineConnectionState) error {
	return s.machines.SetConnectionState(vm, state)
}

// PowerOffVM powers a VM off, as another client would. The VM is given by its unique name, its reference or its inventory path.
func (s *Server) PowerOffVM(vm string) error { return s.machines.PowerOff(vm) }

// DestroyVM deletes a VM or template, powered on or off, as another client would. The VM is given as for PowerOffVM.
func (s *Server) DestroyVM(vm string) error { return s.machines.Destroy(vm) }

// MoveVMToHost moves a VM, given as for PowerOffVM, to another host of its cluster, regardless of rules.
func (s *Server) MoveVMToHost(vm, host string) error { return s.machines.MoveToHost(vm, host) }

// PowerOnFolder powers on the VMs directly in a folder, given by inventory path, and returns their references. Their guests boot
// as usual.
func (s *Server) PowerOnFolder(path string) ([]string, error) { return s.machines.PowerOnFolder(path) }

// AnnotateVM changes the annotation of a VM, given by reference, as another vCenter client, for example a backup program, would. It
// waits for the task to end.
func (s *Server) AnnotateVM(ref, note string) error { return s.machines.Annotate(ref, note) }

// RemovePCIDevices removes all host devices from a VM, as another client would. The VM is given as for PowerOffVM.
func (s *Server) RemovePCIDevices(vm string) error { return s.machines.RemovePCIDevices(vm) }

// HideVM hides an existing VM in its folder and from property collectors, as when an account loses its permission on it. vcsim's
// own collector still finds it through its pool, its host or a container view.
func (s *Server) HideVM(vm string) error { return s.permissions.Hide(vm) }

// ShowVM reverts HideVM.
func (s *Server) ShowVM(vm string) error { return s.permissions.Show(vm) }

// HideClones makes clones that complete from now on appear in no folder, as for an account without permission on the VMs that it
// creates. ShowVM reverts it for one VM.
func (s *Server) HideClones(hidden bool) { s.permissions.HideClones(hidden) }

// WithholdUUIDs makes clones that complete from now on appear without their UUIDs, like a VM that vCenter is still creating.
// RevealUUIDs shows those of one VM.
func (s *Server) WithholdUUIDs(withheld bool) { s.permissions.WithholdUUIDs(withheld) }

// RevealUUIDs reverts WithholdUUIDs for a VM.
func (s *Server) RevealUUIDs(vm string) error { return s.permissions.RevealUUIDs(vm) }
