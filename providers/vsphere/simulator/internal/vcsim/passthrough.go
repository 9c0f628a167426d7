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

// PCIDeviceName returns the name of a host device for passthrough, as in VM.PCI: vendor, device and label, such as "10de:1eb8
// gpu". A shared graphics card is named by its profile.
func PCIDeviceName(vendor, device int32, label string) string {
	name := fmt.Sprintf("%04x:%04x", vendor, device)
	if label != "" {
		name += " " + label
	}
	return name
}

// pciDevicesOf returns the names of the host devices of a VM. A device without a label matches any of its kind.
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

// PCIDevices holds the devices of hosts, and the VMs that use them. The zero value is empty.
type PCIDevices struct {
	mu    sync.Mutex
	hosts map[types.ManagedObjectReference][]string
	used  map[types.ManagedObjectReference]pciClaim // by VM
}

type pciClaim struct {
	host    types.ManagedObjectReference
	devices []string
}

// Set sets the devices, each listed once, that a host provides to its VMs.
func (p *PCIDevices) Set(host types.ManagedObjectReference, devices []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts, p.used = map[types.ManagedObjectReference][]string{}, map[types.ManagedObjectReference]pciClaim{}
	}
	p.hosts[host] = slices.Clone(devices)
}

// Fits reports whether all the devices are free on the host.
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

// Claim allocates host devices to a VM that is powered on, or returns why it cannot start.
func (p *PCIDevices) Claim(vm, host types.ManagedObjectReference, devices []string) types.BaseMethodFault {
	if len(devices) == 0 {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.free(host, devices) {
		return &types.GenericVmConfigFault{Reason: fmt.Sprintf("Module 'DevicePowerOn' power on failed. Device %s is in use or does not exist.", devices[0])}
	}
	p.used[vm] = pciClaim{host, devices}
	return nil
}

// Release releases the host devices of a VM.
func (p *PCIDevices) Release(vm types.ManagedObjectReference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, vm)
}

// checkMemoryReserved rejects powering on a VM with host devices whose memory is not fully reserved. The VM is locked.
func checkMemoryReserved(i *Inventory, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](i, &ref)
	if !ok || len(pciDevicesOf(vm.Config.Hardware.Device)) == 0 {
		return nil
	}
	if locked := vm.Config.MemoryReservationLockedToMax; locked != nil && *locked {
		return nil
	}
	return &types.GenericVmConfigFault{Reason: "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize."}
}
