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

// Hosts manages the hosts of a vCenter.
type Hosts struct{ inventory *Inventory }

// NewHosts returns the hosts of an inventory, all connected.
func NewHosts(i *Inventory) *Hosts { return &Hosts{inventory: i} }

// Disconnect makes vCenter lose the connection to hosts of a compute cluster, given by name or inventory path; to all of them if
// none is named. Their VMs are disconnected: they keep running, but cannot be powered, changed or deleted, only cloned.
func (h *Hosts) Disconnect(cluster string, hosts ...string) error {
	return h.Each(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) {
		h.connection(ctx, host, types.HostSystemConnectionStateDisconnected)
	})
}

// Reconnect reverts Disconnect.
func (h *Hosts) Reconnect(cluster string, hosts ...string) error {
	return h.Each(cluster, hosts, func(ctx *simulator.Context, host *simulator.HostSystem) {
		h.connection(ctx, host, types.HostSystemConnectionStateConnected)
	})
}

// SetMaintenance puts hosts into maintenance mode, or takes them out of it. Their VMs are not moved.
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

// Each calls do for hosts of a compute cluster, given by name; for all of them if none is named.
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
		name := entityName(h.inventory.NewContext(), host)
		if len(names) == 0 || slices.Contains(names, name) {
			do(h.inventory.NewContext(), host)
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

// CheckConnected rejects operations that vCenter cannot execute while the VM's host is disconnected. The VM is locked.
func (h *Hosts) CheckConnected(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
	if !ok || vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateConnected {
		return nil
	}
	if vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected {
		return &types.HostNotConnected{}
	}
	return &types.InvalidState{}
}

// CheckPowerOff rejects powering off a VM without a host. VMs with inaccessible files can be powered off. The VM is locked.
func (h *Hosts) CheckPowerOff(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
	if ok && (vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateInaccessible ||
		vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateInvalid) {
		return nil
	}
	return h.CheckConnected(ref)
}

// CheckUnregister rejects unregistering a VM of a disconnected host.
func (h *Hosts) CheckUnregister(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](h.inventory, &ref)
	if !ok {
		return nil
	}
	var fault types.BaseMethodFault
	h.inventory.WithLock(vm, func() {
		if vm.Runtime.ConnectionState == types.VirtualMachineConnectionStateDisconnected {
			fault = &types.HostNotConnected{}
		}
	})
	return fault
}

// Publish notifies clients of changes of a host that vcsim makes without notification.
func (h *Hosts) Publish(ctx *simulator.Context, ref types.ManagedObjectReference) {
	host, ok := Get[*simulator.HostSystem](h.inventory, &ref)
	if !ok {
		return
	}
	h.maintenance(ctx, host, host.Runtime.InMaintenanceMode)
	h.connection(ctx, host, host.Runtime.ConnectionState)
}
