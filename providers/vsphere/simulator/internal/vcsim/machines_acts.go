// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// What can befall a virtual machine behind the back of every client. VMs are given by a name that is unique, reference or
// inventory path.

// RegisterCopy registers a copy of a VM under another name in the same folder, as
// one of a storage snapshot or a backup: switched off, with the BIOS UUID, the
// notes and the settings of the original, and an instance UUID of its own.
func (m *Machines) RegisterCopy(vm, name string) error {
	original, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	view := m.inspect(original)
	config := &types.VirtualMachineConfigSpec{Uuid: view.UUID, Annotation: view.Annotation}
	for key, value := range view.ExtraConfig {
		config.ExtraConfig = append(config.ExtraConfig, &types.OptionValue{Key: key, Value: value})
	}
	started, err := methods.CloneVM_Task(context.Background(), m.operator.Client, &types.CloneVM_Task{
		This: original.Self, Folder: *original.Parent, Name: name, Spec: types.VirtualMachineCloneSpec{Config: config},
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", vm, err)
	}
	if _, err := m.operator.Await(started.Returnval); err != nil {
		return fmt.Errorf("copying %s: %w", vm, err)
	}
	return nil
}

// SetNotes replaces the notes of a VM.
func (m *Machines) SetNotes(vm, notes string) error {
	return m.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
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
func (m *Machines) SetConnectionState(vm string, state types.VirtualMachineConnectionState) error {
	readable := state != types.VirtualMachineConnectionStateInaccessible && state != types.VirtualMachineConnectionStateInvalid
	return m.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
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

// PowerOff switches a VM off, behind the back of every client. The VM is given
// by its name if that is unique, its reference or its inventory path.
func (m *Machines) PowerOff(vm string) error {
	found, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	started, err := methods.PowerOffVM_Task(context.Background(), m.operator.Client, &types.PowerOffVM_Task{This: found.Self})
	if err != nil {
		return fmt.Errorf("powering off %s: %w", vm, err)
	}
	if _, err := m.operator.Await(started.Returnval); err != nil {
		return fmt.Errorf("powering off %s: %w", vm, err)
	}
	return nil
}

// Destroy deletes a VM or template, switched on or not, behind the back of every
// client. The VM is given as for PowerOff.
func (m *Machines) Destroy(vm string) error {
	found, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	var on bool
	m.inventory.Locked(found, func() { on = found.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn })
	if on {
		if err := m.PowerOff(found.Self.Value); err != nil {
			return err
		}
	}
	started, err := methods.Destroy_Task(context.Background(), m.operator.Client, &types.Destroy_Task{This: found.Self})
	if err != nil {
		return fmt.Errorf("destroying %s: %w", vm, err)
	}
	if _, err := m.operator.Await(started.Returnval); err != nil {
		return fmt.Errorf("destroying %s: %w", vm, err)
	}
	return nil
}

// MoveToHost moves a VM, given as for PowerOff, to another host of its cluster,
// whatever the rules say.
func (m *Machines) MoveToHost(vm, host string) error {
	found, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	cluster, ok := m.inventory.ClusterOf(found)
	if !ok {
		return fmt.Errorf("%s is in no cluster", vm)
	}
	target, err := m.inventory.Host(cluster, host)
	if err != nil {
		return err
	}
	ctx := m.inventory.Call()
	ctx.WithLock(found, func() { m.inventory.Move(ctx, found, target) })
	return nil
}

// PowerOnFolder powers on the VMs directly in a folder, given by inventory path, and
// answers their references. Their guests boot as all do.
func (m *Machines) PowerOnFolder(path string) ([]string, error) {
	folder, err := find[*simulator.Folder](m.inventory, path)
	if err != nil {
		return nil, err
	}
	var refs []string
	for _, child := range folder.ChildEntity {
		if child.Type != "VirtualMachine" {
			continue
		}
		started, err := methods.PowerOnVM_Task(context.Background(), m.operator.Client, &types.PowerOnVM_Task{This: child})
		if err == nil {
			_, err = m.operator.Await(started.Returnval)
		}
		if err != nil {
			return nil, fmt.Errorf("powering %s on: %w", child.Value, err)
		}
		refs = append(refs, child.Value)
	}
	return refs, nil
}

// NoteOn has another client of the vCenter change the notes of a VM, given by
// reference, as backup programs do around their work. It returns when the task has
// ended.
func (m *Machines) NoteOn(ref, note string) error {
	started, err := methods.ReconfigVM_Task(context.Background(), m.operator.Client, &types.ReconfigVM_Task{
		This: types.ManagedObjectReference{Type: "VirtualMachine", Value: ref},
		Spec: types.VirtualMachineConfigSpec{Annotation: note},
	})
	if err == nil {
		_, err = m.operator.Await(started.Returnval)
	}
	if err != nil {
		return fmt.Errorf("noting on %s: %w", ref, err)
	}
	return nil
}

// RemovePCIDevices takes all devices of its host from a VM, behind the back of every client. The VM is given as for PowerOff.
func (m *Machines) RemovePCIDevices(vm string) error {
	return m.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
		left := slices.DeleteFunc(slices.Clone(machine.Config.Hardware.Device), func(device types.BaseVirtualDevice) bool {
			_, passed := device.(*types.VirtualPCIPassthrough)
			return passed
		})
		ctx.Update(machine, []types.PropertyChange{
			{Name: "config.hardware.device", Val: left}, {Name: "config.changeVersion", Val: machine.Config.ChangeVersion + "'"},
		})
	})
}

// CheckReconfig refuses what vCenter refuses of a changed configuration, and vcsim does not: one that is not what the client has
// seen, and devices of hosts for a VM that runs. The VM is locked.
func (m *Machines) CheckReconfig(req *types.ReconfigVM_Task) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](m.inventory, &req.This)
	if !ok {
		return nil
	}
	if version := req.Spec.ChangeVersion; version != "" && version != vm.Config.ChangeVersion {
		return &types.ConcurrentAccess{}
	}
	for _, change := range req.Spec.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		passed, ok := spec.Device.(*types.VirtualPCIPassthrough)
		if !ok {
			continue
		}
		if vm.Runtime.PowerState != types.VirtualMachinePowerStatePoweredOff {
			return &types.InvalidPowerState{RequestedState: types.VirtualMachinePowerStatePoweredOff, ExistingState: vm.Runtime.PowerState}
		}
		if len(pciDevicesOf([]types.BaseVirtualDevice{passed})) != 1 {
			return &types.InvalidDeviceSpec{InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange.device.backing"}}
		}
	}
	return nil
}
