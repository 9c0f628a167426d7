// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// PCIDeviceName names a device of a host that can be passed through, as in VM.PCI: vendor, kind and label, such as "10de:1eb8 gpu".
// A share of a graphics card goes by its profile.
func PCIDeviceName(vendor, device int32, label string) string {
	name := fmt.Sprintf("%04x:%04x", vendor, device)
	if label != "" {
		name += " " + label
	}
	return name
}

// pciDevicesOf names the devices of hosts among those of a VM. One without label is any of its kind.
func pciDevicesOf(devices []types.BaseVirtualDevice) []string {
	var names []string
	for _, device := range devices {
		passed, ok := device.(*types.VirtualPCIPassthrough)
		if !ok {
			continue
		}
		switch backing := passed.Backing.(type) {
		case *types.VirtualPCIPassthroughVmiopBackingInfo:
			names = append(names, backing.Vgpu)
		case *types.VirtualPCIPassthroughDynamicBackingInfo:
			for _, allowed := range backing.AllowedDevice {
				names = append(names, PCIDeviceName(allowed.VendorId, allowed.DeviceId, backing.CustomLabel))
			}
		}
	}
	return names
}

// PCIDevices knows the devices of hosts, and which VMs have them. Its zero value has none.
type PCIDevices struct {
	mu    sync.Mutex
	hosts map[types.ManagedObjectReference][]string
	used  map[types.ManagedObjectReference]pciClaim // by VM
}

type pciClaim struct {
	host    types.ManagedObjectReference
	devices []string
}

// Set says which devices, each once, a host has for its VMs.
func (p *PCIDevices) Set(host types.ManagedObjectReference, devices []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts, p.used = map[types.ManagedObjectReference][]string{}, map[types.ManagedObjectReference]pciClaim{}
	}
	p.hosts[host] = slices.Clone(devices)
}

// Fits reports whether the host has all the devices free.
func (p *PCIDevices) Fits(host types.ManagedObjectReference, devices []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free(host, devices)
}

// free is Fits with the lock held.
func (p *PCIDevices) free(host types.ManagedObjectReference, devices []string) bool {
	left := slices.Clone(p.hosts[host])
	wanted := slices.Clone(devices)
	for _, claim := range p.used {
		if claim.host == host {
			wanted = append(wanted, claim.devices...)
		}
	}
	for _, device := range wanted {
		i := slices.Index(left, device)
		if i < 0 {
			return false
		}
		left = slices.Delete(left, i, i+1)
	}
	return true
}

// Claim takes the devices of a host for a VM that is powered on there, or answers why it does not start.
func (p *PCIDevices) Claim(vm, host types.ManagedObjectReference, devices []string) types.BaseMethodFault {
	if len(devices) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.free(host, devices) {
		return &types.GenericVmConfigFault{Reason: fmt.Sprintf("Module 'DevicePowerOn' power on failed. Device %s is in use or not there.", devices[0])}
	}
	p.used[vm] = pciClaim{host, devices}
	return nil
}

// Release takes the devices of hosts from a VM.
func (p *PCIDevices) Release(vm types.ManagedObjectReference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, vm)
}

// memoryLocked refuses to power on a VM with devices of its host that could be short of memory. The VM is locked.
func memoryLocked(i *Inventory, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](i, &ref)
	if !ok || len(pciDevicesOf(vm.Config.Hardware.Device)) == 0 {
		return nil
	}
	if locked := vm.Config.MemoryReservationLockedToMax; locked != nil && *locked {
		return nil
	}
	return &types.GenericVmConfigFault{Reason: "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize."}
}
