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

// Changes of a virtual machine made outside of the client under test. VMs are given by unique name, reference or inventory path.

// RegisterCopy registers a copy of a VM under another name in the same folder, like a copy from a storage snapshot or a backup:
// powered off, with the BIOS UUID, the annotation and the settings of the original, and its own instance UUID.
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
	started, err := methods.CloneVM_Task(context.Background(), m.admin.Client, &types.CloneVM_Task{
		This: original.Self, Folder: *original.Parent, Name: name, Spec: types.VirtualMachineCloneSpec{Config: config},
	})
	if err != nil {
		return fmt.Errorf("copying %s: %w", vm, err)
	}
	if _, err := m.admin.Await(started.Returnval); err != nil {
		return fmt.Errorf("copying %s: %w", vm, err)
	}
	return nil
}

// SetNotes replaces the annotation of a VM.
func (m *Machines) SetNotes(vm, notes string) error {
	return m.inventory.EditVM(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
		ctx.Update(machine, []types.PropertyChange{
			{Name: "config.annotation", Val: notes}, {Name: "summary.config.annotation", Val: notes},
		})
	})
}

// SetConnectionState makes vCenter unable to manage a VM, whatever the state of its host: orphaned, inaccessible or invalid. The
// VM cannot be powered on, changed or deleted; it can be unregistered while it is off. An orphaned VM counts as off and cannot be
// powered off. If its files cannot be read, vCenter does not report its UUIDs.
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

// PowerOff powers a VM off, as another client would. The VM is given by its unique name, its reference or its inventory path.
func (m *Machines) PowerOff(vm string) error {
	found, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	started, err := methods.PowerOffVM_Task(context.Background(), m.admin.Client, &types.PowerOffVM_Task{This: found.Self})
	if err != nil {
		return fmt.Errorf("powering off %s: %w", vm, err)
	}
	if _, err := m.admin.Await(started.Returnval); err != nil {
		return fmt.Errorf("powering off %s: %w", vm, err)
	}
	return nil
}

// Destroy deletes a VM or template, powered on or off, as another client would. The VM is given as for PowerOff.
func (m *Machines) Destroy(vm string) error {
	found, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	var on bool
	m.inventory.WithLock(found, func() { on = found.Runtime.PowerState == types.VirtualMachinePowerStatePoweredOn })
	if on {
		if err := m.PowerOff(found.Self.Value); err != nil {
			return err
		}
	}
	started, err := methods.Destroy_Task(context.Background(), m.admin.Client, &types.Destroy_Task{This: found.Self})
	if err != nil {
		return fmt.Errorf("destroying %s: %w", vm, err)
	}
	if _, err := m.admin.Await(started.Returnval); err != nil {
		return fmt.Errorf("destroying %s: %w", vm, err)
	}
	return nil
}

// MoveToHost moves a VM, given as for PowerOff, to another host of its cluster, regardless of rules.
func (m *Machines) MoveToHost(vm, host string) error {
	found, err := m.inventory.VM(vm)
	if err != nil {
		return err
	}
	cluster, ok := m.inventory.ClusterOf(found)
	if !ok {
		return fmt.Errorf("%s is not in a cluster", vm)
	}
	target, err := m.inventory.Host(cluster, host)
	if err != nil {
		return err
	}
	ctx := m.inventory.NewContext()
	ctx.WithLock(found, func() { m.inventory.Move(ctx, found, target) })
	return nil
}

// PowerOnFolder powers on the VMs directly in a folder, given by inventory path, and returns their references. Their guests boot
// as usual.
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
		started, err := methods.PowerOnVM_Task(context.Background(), m.admin.Client, &types.PowerOnVM_Task{This: child})
		if err == nil {
			_, err = m.admin.Await(started.Returnval)
		}
		if err != nil {
			return nil, fmt.Errorf("powering on %s: %w", child.Value, err)
		}
		refs = append(refs, child.Value)
	}
	return refs, nil
}

// Annotate changes the annotation of a VM, given by reference, as another vCenter client, for example a backup program, would. It
// waits for the task to end.
func (m *Machines) Annotate(ref, note string) error {
	started, err := methods.ReconfigVM_Task(context.Background(), m.admin.Client, &types.ReconfigVM_Task{
		This: types.ManagedObjectReference{Type: "VirtualMachine", Value: ref},
		Spec: types.VirtualMachineConfigSpec{Annotation: note},
	})
	if err == nil {
		_, err = m.admin.Await(started.Returnval)
	}
	if err != nil {
		return fmt.Errorf("annotating %s: %w", ref, err)
	}
	return nil
}

// RemovePCIDevices removes all host devices from a VM, as another client would. The VM is given as for PowerOff.
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

// CheckReconfig rejects changes of the configuration that vCenter rejects and vcsim accepts: based on a stale changeVersion, or
// adding host devices to a running VM. The VM is locked.
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
