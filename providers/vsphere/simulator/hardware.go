// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// PCIDevice names a device of a host that can be passed through, as in VM.PCI: vendor, kind and label, such as "10de:1eb8 gpu".
// A share of a graphics card goes by its profile.
func PCIDevice(vendor, device int32, label string) string {
	name := fmt.Sprintf("%04x:%04x", vendor, device)
	if label != "" {
		name += " " + label
	}
	return name
}

// SetPCIDevices says which devices, each once, a host of a compute cluster has for its VMs. Without it a host has none.
func (s *Server) SetPCIDevices(cluster, host string, devices ...string) error {
	c, err := s.cluster(cluster)
	if err != nil {
		return err
	}
	found, ok := child(s.call(), s.hostRefs(c), host)
	if !ok {
		return fmt.Errorf("cluster %s has no host %q", cluster, host)
	}
	s.pci.set(found.Reference(), devices)
	return nil
}

// RemovePCIDevices takes all devices of its host from a VM, behind the back of every client. The VM is given as for PowerOffVM.
func (s *Server) RemovePCIDevices(vm string) error {
	return s.edit(vm, func(ctx *simulator.Context, machine *simulator.VirtualMachine) {
		left := slices.DeleteFunc(slices.Clone(machine.Config.Hardware.Device), func(device types.BaseVirtualDevice) bool {
			_, passed := device.(*types.VirtualPCIPassthrough)
			return passed
		})
		ctx.Update(machine, []types.PropertyChange{
			{Name: "config.hardware.device", Val: left}, {Name: "config.changeVersion", Val: machine.Config.ChangeVersion + "'"},
		})
	})
}

// passedThrough names the devices of hosts among those of a VM. One without label is any of its kind.
func passedThrough(devices []types.BaseVirtualDevice) []string {
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
				names = append(names, PCIDevice(allowed.VendorId, allowed.DeviceId, backing.CustomLabel))
			}
		}
	}
	return names
}

// pciDevices knows the devices of hosts, and which VMs have them. Its zero value has none.
type pciDevices struct {
	mu    sync.Mutex
	hosts map[types.ManagedObjectReference][]string
	used  map[types.ManagedObjectReference]pciClaim // by VM
}

type pciClaim struct {
	host    types.ManagedObjectReference
	devices []string
}

func (p *pciDevices) set(host types.ManagedObjectReference, devices []string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.hosts == nil {
		p.hosts, p.used = map[types.ManagedObjectReference][]string{}, map[types.ManagedObjectReference]pciClaim{}
	}
	p.hosts[host] = slices.Clone(devices)
}

// fits reports whether the host has all the devices free.
func (p *pciDevices) fits(host types.ManagedObjectReference, devices []string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.free(host, devices)
}

// free is fits with the lock held.
func (p *pciDevices) free(host types.ManagedObjectReference, devices []string) bool {
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

// claim takes the devices of a host for a VM that is powered on there, or answers why it does not start.
func (p *pciDevices) claim(vm, host types.ManagedObjectReference, devices []string) types.BaseMethodFault {
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

func (p *pciDevices) release(vm types.ManagedObjectReference) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.used, vm)
}

// memoryLocked refuses to power on a VM with devices of its host that could be short of memory. The VM is locked.
func (s *Server) memoryLocked(ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok || len(passedThrough(vm.Config.Hardware.Device)) == 0 || isTrue(vm.Config.MemoryReservationLockedToMax) {
		return nil
	}
	return &types.GenericVmConfigFault{Reason: "Invalid memory setting: memory reservation (sched.mem.min) should be equal to memsize."}
}

// checkReconfig refuses what vCenter refuses of a changed configuration, and vcsim does not: one that is not what the client has
// seen, and devices of hosts for a VM that runs. The VM is locked.
func (s *Server) checkReconfig(req *types.ReconfigVM_Task) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &req.This)
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
		if len(passedThrough([]types.BaseVirtualDevice{passed})) != 1 {
			return &types.InvalidDeviceSpec{InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange.device.backing"}}
		}
	}
	return nil
}
