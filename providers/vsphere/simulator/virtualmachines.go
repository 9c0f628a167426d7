// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// What can befall a virtual machine behind the back of every client. VMs are given
// as for PowerOffVM.

// RegisterCopy registers a copy of a VM under another name in the same folder, as
// one of a storage snapshot or a backup: switched off, with the BIOS UUID, the
// notes and the settings of the original, and an instance UUID of its own.
func (s *Server) RegisterCopy(vm, name string) error {
	original, err := s.find(vm)
	if err != nil {
		return err
	}
	view := s.inspect(original)
	config := &types.VirtualMachineConfigSpec{Uuid: view.UUID, Annotation: view.Annotation}
	for key, value := range view.ExtraConfig {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	started, err := methods.CloneVM_Task(context.Background(), s.admin.client, &types.CloneVM_Task{
		This: original.Self, Folder: *original.Parent, Name: name, Spec: types.VirtualMachineCloneSpec{Config: config},
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", vm, err)
	}
	if _, err := s.admin.await(started.Returnval); err != nil {
		return fmt.Errorf("copying %s: %w", vm, err)
	}
	return nil
}

// SetNotes replaces the notes of a VM.
func (s *Server) SetNotes(vm, notes string) error {
	return s.edit(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
		ctx.Update(machine, []types.PropertyChange{
			{Name: "config.annotation", Val: notes}, {Name: "summary.config.annotation", Val: notes},
		})
	})
}

// SetConnectionState makes vCenter unable to manage a VM, whatever its host does:
// orphaned, inaccessible or invalid. It can neither be switched on, changed nor
// deleted, but unregistered when it is off. An orphaned one is off for all that
// vCenter knows, and cannot be switched off. Of one whose files it cannot read
// vCenter does not know the UUIDs.
func (s *Server) SetConnectionState(vm string, state types.VirtualMachineConnectionState) error {
	readable := state != types.VirtualMachineConnectionStateInaccessible && state != types.VirtualMachineConnectionStateInvalid
	return s.edit(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
		ctx.Update(machine, []types.PropertyChange{
			{Name: "runtime.connectionState", Val: state}, {Name: "summary.runtime.connectionState", Val: state},
		})
		if state == types.VirtualMachineConnectionStateOrphaned {
			ctx.Update(machine, []types.PropertyChange{
				{Name: "runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff},
				{Name: "summary.runtime.powerState", Val: types.VirtualMachinePowerStatePoweredOff},
			})
		}
		showUUIDs(ctx, machine, readable)
	})
}

// HideClones makes clones that end from now on appear in no folder, as for an
// account that has no permission on what it makes. ShowVM undoes it for one.
func (s *Server) HideClones(hidden bool) {
	s.newVMs.set(func(b *newVMs) { b.hidden = hidden })
}

// WithholdUUIDs makes clones that end from now on appear without their UUIDs, as a
// VM does that vCenter has not finished. RevealUUIDs shows those of one.
func (s *Server) WithholdUUIDs(withheld bool) {
	s.newVMs.set(func(b *newVMs) { b.nameless = withheld })
}

// RevealUUIDs undoes WithholdUUIDs for a VM.
func (s *Server) RevealUUIDs(vm string) error {
	return s.edit(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) { showUUIDs(ctx, machine, true) })
}

func (s *Server) edit(vm string, change func(*simulator.Context, *simulator.VirtualMachine)) error {
	machine, err := s.find(vm)
	if err != nil {
		return err
	}
	ctx := s.call()
	ctx.WithLock(machine, func() { change(ctx, machine) })
	return nil
}

// showUUIDs shows or hides the UUIDs of the locked VM in its summary, which is what clients follow.
func showUUIDs(ctx *simulator.Context, vm *simulator.VirtualMachine, shown bool) {
	var instance, bios string
	if shown {
		instance, bios = vm.Config.InstanceUuid, vm.Config.Uuid
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "summary.config.instanceUuid", Val: instance}, {Name: "summary.config.uuid", Val: bios},
	})
}

// newVMs says how new VMs come into sight, and which are out of it.
type newVMs struct {
	mu               sync.Mutex
	hidden, nameless bool
	unseen           map[types.ManagedObjectReference]bool
}

func (b *newVMs) set(change func(*newVMs)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

// hide notes whether clients may see an object.
func (b *newVMs) hide(ref types.ManagedObjectReference, hidden bool) {
	b.set(func(b *newVMs) {
		if b.unseen == nil {
			b.unseen = map[types.ManagedObjectReference]bool{}
		}
		if hidden {
			b.unseen[ref] = true
		} else {
			delete(b.unseen, ref)
		}
	})
}

// visible leaves out what clients may not see.
func (b *newVMs) visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return b.unseen[ref] })
}

// present brings a clone that is complete into sight. The clone is locked.
func (s *Server) present(ctx *simulator.Context, vm *simulator.VirtualMachine) {
	s.newVMs.mu.Lock()
	hidden, nameless := s.newVMs.hidden, s.newVMs.nameless
	s.newVMs.mu.Unlock()
	if nameless {
		showUUIDs(ctx, vm, false)
	}
	folder, ok := get[*simulator.Folder](s, vm.Parent)
	if hidden && ok {
		ctx.WithLock(folder, func() { s.takeOut(ctx, folder, vm.Self) })
	}
}

// takeOut takes a VM out of the locked folder, but not out of vCenter. Its pool, its
// host and container views lead to it still, so it is noted too.
func (s *Server) takeOut(ctx *simulator.Context, folder *simulator.Folder, ref types.ManagedObjectReference) {
	s.newVMs.hide(ref, true)
	s.registry.RemoveReference(ctx, folder, &folder.ChildEntity, ref)
	ctx.Update(folder, []types.PropertyChange{{Name: "childEntity", Val: folder.ChildEntity}})
}

// removable refuses to unregister a VM of a host that vCenter has lost.
func (s *Server) removable(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return nil
	}
	var fault types.BaseMethodFault
	s.locked(vm, func() {
		if vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected {
			fault = &types.HostNotConnected{}
		}
	})
	return fault
}
