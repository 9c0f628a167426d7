// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Hosts are those of a vCenter.
type Hosts struct{ inventory *Inventory }

// NewHosts has lost no host.
func NewHosts(i *Inventory) *Hosts { return &Hosts{inventory: i} }

// Disconnect makes vCenter lose the hosts of a compute cluster, given by name
// or inventory path; all of them when none is named. Their VMs are disconnected:
// they run on, but cannot be powered, changed or deleted, only cloned.
func (h *Hosts) Disconnect(cluster string, hosts ...string) error {
	return h.Each(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) {
		h.connection(ctx, host, types.HostSystemConnectionStateDisconnected)
	})
}

// Reconnect undoes Disconnect.
func (h *Hosts) Reconnect(cluster string, hosts ...string) error {
	return h.Each(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) {
		h.connection(ctx, host, types.HostSystemConnectionStateConnected)
	})
}

// SetMaintenance puts hosts into maintenance mode, or takes them out of it. VMs stay.
func (h *Hosts) SetMaintenance(cluster string, on bool, hosts ...string) error {
	return h.Each(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) { h.maintenance(ctx, host, on) })
}

func (h *Hosts) maintenance(ctx *simulator.Context, host *simulator.HostSystem, on bool) {
	ctx.WithLock(host, func() {
		ctx.Update(host, []types.PropertyChange{
			{Name: "runtime.inMaintenanceMode", Val: on},
			{Name: "summary.runtime", Val: host.Summary.Runtime},
		})
	})
}

// Each does something to hosts of a compute cluster, given by name; to all of them when none is named.
func (h *Hosts) Each(cluster string, names []string, do func(*simulator.Context, *simulator.HostSystem)) error {
	c, err := h.inventory.Cluster(cluster)
	if err != nil {
		return err
	}
	left := slices.Clone(names)
	for _, ref := range h.inventory.HostRefs(c) {
		host, ok := Get[*simulator.HostSystem](h.inventory, &ref)
		if !ok {
			continue
		}
		name := entityName(h.inventory.Call(), host)
		if len(names) == 0 || slices.Contains(names, name) {
			do(h.inventory.Call(), host)
			left = slices.DeleteFunc(left, func(n string) bool { return n == name })
		}
	}
	if len(left) > 0 {
		return fmt.Errorf("cluster %q has no host %s", cluster, strings.Join(left, ", "))
	}
	return nil
}

func (h *Hosts) connection(ctx *simulator.Context, host *simulator.HostSystem, state types.HostSystemConnectionState) {
	var vms []types.ManagedObjectReference
	ctx.WithLock(host, func() {
		vms = slices.Clone(host.Vm)
		ctx.Update(host, []types.PropertyChange{
			{Name: "runtime.connectionState", Val: state},
			{Name: "summary.runtime", Val: host.Summary.Runtime},
		})
	})
	for _, ref := range vms {
		vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
		if !ok {
			continue
		}
		ctx.WithLock(vm, func() {
			ctx.Update(vm, []types.PropertyChange{
				{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionState(state)},
				{Name: "summary.runtime.connectionState", Val: types.VirtualMachineConnectionState(state)},
			})
		})
	}
}

// Connected refuses what vCenter cannot do while it has lost the VM's host. The VM
// is locked.
func (h *Hosts) Connected(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
	if !ok || vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected {
		return nil
	}
	if vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected {
		return &types.HostNotConnected{}
	}
	return &types.InvalidState{}
}

// Stoppable refuses to switch off a VM that no host has. Files that cannot be read
// keep none from being ended. The VM is locked.
func (h *Hosts) Stoppable(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
	if ok && (vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateInaccessible ||
		vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateInvalid) {
		return nil
	}
	return h.Connected(ref)
}

// Removable refuses to unregister a VM of a host that vCenter has lost.
func (h *Hosts) Removable(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
	if !ok {
		return nil
	}
	var fault types.BaseMethodFault
	h.inventory.Locked(vm, func() {
		if vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected {
			fault = &types.HostNotConnected{}
		}
	})
	return fault
}

// Publish tells clients of what vcsim has changed of a host without a word.
func (h *Hosts) Publish(ctx *simulator.Context, ref types.ManagedObjectReference) {
	host, ok := Get[*simulator.HostSystem](h.inventory, &ref)
	if !ok {
		return
	}
	h.maintenance(ctx, host, host.Runtime.InMaintenanceMode)
	h.connection(ctx, host, host.Runtime.ConnectionState)
}
