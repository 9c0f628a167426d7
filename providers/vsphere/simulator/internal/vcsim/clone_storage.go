// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"slices"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// StorageSettings holds the storage settings of a clone that vCenter stores and vcsim does not.
type StorageSettings struct {
	// Home is the name of the storage policy of its files; "" for the default.
	Home  string
	disks map[string]DiskSettings // by controller and unit
}

// DiskSettings holds the requested mode of a disk, Thin, Thick or EagerlyZeroed, and its storage policy.
type DiskSettings struct{ Mode, Policy string }

// Disk returns the requested settings of a disk.
func (k StorageSettings) Disk(disk *types.VirtualDisk) DiskSettings {
	return k.disks[unitOf(&disk.VirtualDevice)]
}

// StorageSettings returns the requested storage of a machine.
func (c *Cloning) StorageSettings(vm types.ManagedObjectReference) StorageSettings {
	return c.storage.get(vm)
}

// Forget removes the state of a deleted machine.
func (c *Cloning) Forget(vm types.ManagedObjectReference) { c.storage.forget(vm) }

// storageRecord stores the requested storage of machines.
type storageRecord struct {
	mu       sync.Mutex
	settings map[types.ManagedObjectReference]StorageSettings
}

func (s *storageRecord) set(vm types.ManagedObjectReference, settings StorageSettings) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.settings == nil {
		s.settings = map[types.ManagedObjectReference]StorageSettings{}
	}
	s.settings[vm] = settings
}

func (s *storageRecord) get(vm types.ManagedObjectReference) StorageSettings {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.settings[vm]
}

func (s *storageRecord) forget(vm types.ManagedObjectReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.settings, vm)
}

// checkStorage rejects, when the task runs, missing policies, disks without a free unit, unavailable resources, and missing keys.
func (c *Cloning) checkStorage(template *simulator.VirtualMachine, p *clonePlan, req *types.CloneVM_Task) types.BaseMethodFault {
	settings, fault := c.requestedStorage(template, req)
	if fault != nil {
		return fault
	}
	p.storage = settings
	if fault := checkAdded(template, req.Spec.Config); fault != nil {
		return fault
	}
	memory := template.Config.Hardware.MemoryMB
	if req.Spec.Config.MemoryMB != 0 {
		memory = int32(req.Spec.Config.MemoryMB)
	}
	if fault := checkAllocation("memory", req.Spec.Config.MemoryAllocation, int64(memory)); fault != nil {
		return fault
	}
	if fault := checkAllocation("cpu", req.Spec.Config.CpuAllocation, 0); fault != nil {
		return fault
	}
	return c.checkCrypto(req.Spec.Config)
}

// checkCrypto requires a key that a provider has generated. An encryption policy requires a default provider.
func (c *Cloning) checkCrypto(config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	invalid := &types.InvalidArgument{InvalidProperty: "spec.config.crypto"}
	if c.keys.NoProvider() && slices.ContainsFunc(config.VmProfile, c.encrypts) {
		return invalid
	}
	if encrypt, ok := config.Crypto.(*types.CryptoSpecEncrypt); ok && !c.keys.Has(encrypt.CryptoKeyId) {
		return invalid
	}
	return nil
}

// completeStorage applies what vcsim omits. The clone is locked.
func (c *Cloning) completeStorage(vm *simulator.VirtualMachine, p *clonePlan, config *types.VirtualMachineConfigSpec) {
	c.storage.set(vm.Self, p.storage)
	if config.CpuAllocation != nil {
		vm.Config.CpuAllocation = config.CpuAllocation
	}
	if config.MemoryAllocation != nil {
		vm.Config.MemoryAllocation = config.MemoryAllocation
	}
	if config.FtEncryptionMode != "" {
		vm.Config.FtEncryptionMode = config.FtEncryptionMode
	}
	if config.MigrateEncryption != "" {
		vm.Config.MigrateEncryption = config.MigrateEncryption
	}
	if encrypt, ok := config.Crypto.(*types.CryptoSpecEncrypt); ok {
		key := encrypt.CryptoKeyId
		vm.Config.KeyId = &key
	}
}

// unitOf returns the controller and unit of a disk.
func unitOf(device *types.VirtualDevice) string {
	if device.UnitNumber == nil {
		return fmt.Sprint(device.ControllerKey)
	}
	return fmt.Sprintf("%d:%d", device.ControllerKey, *device.UnitNumber)
}

// requestedStorage collects the policies of the home and the disks.
func (c *Cloning) requestedStorage(template *simulator.VirtualMachine, req *types.CloneVM_Task) (StorageSettings, types.BaseMethodFault) {
	settings := StorageSettings{disks: map[string]DiskSettings{}}
	home := req.Spec.Location.Profile
	if len(req.Spec.Config.VmProfile) > 0 {
		home = req.Spec.Config.VmProfile
	}
	var fault types.BaseMethodFault
	policyOf := func(profiles []types.BaseVirtualMachineProfileSpec) string {
		for _, profile := range profiles {
			defined, ok := profile.(*types.VirtualMachineDefinedProfileSpec)
			if !ok {
				continue
			}
			if found, ok := c.policies.Find(defined.ProfileId); ok {
				return found.Name
			}
			fault = &types.InvalidArgument{InvalidProperty: "spec.profile"}
		}
		return ""
	}
	settings.Home = policyOf(home)
	devices := object.VirtualDeviceList(template.Config.Hardware.Device)
	for _, locator := range req.Spec.Location.Disk {
		disk, ok := devices.FindByKey(locator.DiskId).(*types.VirtualDisk)
		if !ok || req.Spec.Location.Datastore != nil && locator.Datastore != *req.Spec.Location.Datastore {
			return settings, &types.InvalidArgument{InvalidProperty: "spec.location.disk"}
		}
		settings.disks[unitOf(&disk.VirtualDevice)] = DiskSettings{Policy: policyOf(locator.Profile)}
	}
	for _, change := range req.Spec.Config.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		if disk, ok := spec.Device.(*types.VirtualDisk); ok && spec.Operation == types.VirtualDeviceConfigSpecOperationAdd {
			settings.disks[unitOf(&disk.VirtualDevice)] = DiskSettings{Policy: policyOf(spec.Profile), Mode: modeOf(disk)}
		}
	}
	return settings, fault
}

func modeOf(disk *types.VirtualDisk) string {
	backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
	switch {
	case !ok || backing.ThinProvisioned == nil:
		return ""
	case *backing.ThinProvisioned:
		return "Thin"
	case backing.EagerlyScrub != nil && *backing.EagerlyScrub:
		return "EagerlyZeroed"
	}
	return "Thick"
}

// checkAdded rejects disks without a size, or without a free unit at a controller.
func checkAdded(template *simulator.VirtualMachine, config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	devices := object.VirtualDeviceList(template.Config.Hardware.Device)
	taken := map[string]bool{}
	for _, device := range devices {
		taken[unitOf(device.GetVirtualDevice())] = true
	}
	for i, change := range config.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		disk, ok := spec.Device.(*types.VirtualDisk)
		if !ok || spec.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		invalid := &types.InvalidDeviceSpec{DeviceIndex: int32(i)}
		if disk.CapacityInKB <= 0 || disk.UnitNumber == nil || taken[unitOf(&disk.VirtualDevice)] {
			return invalid
		}
		if !hasUnit(devices.FindByKey(disk.ControllerKey), *disk.UnitNumber) {
			return invalid
		}
		taken[unitOf(&disk.VirtualDevice)] = true
	}
	return nil
}

// hasUnit reports whether a controller has this unit for a disk. SCSI controllers occupy one themselves.
func hasUnit(controller types.BaseVirtualDevice, unit int32) bool {
	if scsi, ok := controller.(types.BaseVirtualSCSIController); ok && unit == max(scsi.GetVirtualSCSIController().ScsiCtlrUnitNumber, 7) {
		return false
	}
	switch controller.(type) {
	case *types.ParaVirtualSCSIController:
		return unit < 65
	case types.BaseVirtualSCSIController:
		return unit < 16
	case types.BaseVirtualSATAController:
		return unit < 30
	case *types.VirtualNVMEController:
		return unit < 15
	case *types.VirtualIDEController:
		return unit < 2
	}
	return false
}

// checkAllocation rejects a reservation above the limit or the configured amount.
func checkAllocation(of string, info *types.ResourceAllocationInfo, most int64) types.BaseMethodFault {
	if info == nil || info.Reservation == nil {
		return nil
	}
	above := info.Limit != nil && *info.Limit >= 0 && *info.Reservation > *info.Limit
	if above || *info.Reservation < 0 || most > 0 && *info.Reservation > most {
		return &types.InvalidArgument{InvalidProperty: "spec.config." + of + "Allocation.reservation"}
	}
	return nil
}

func (c *Cloning) encrypts(profile types.BaseVirtualMachineProfileSpec) bool {
	defined, ok := profile.(*types.VirtualMachineDefinedProfileSpec)
	if !ok {
		return false
	}
	policy, _ := c.policies.Find(defined.ProfileId)
	return policy.Encrypts
}
