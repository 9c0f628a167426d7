// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Disk is a disk of a virtual machine.
type Disk struct {
	GiB int
	// Unit is its place at its controller.
	Unit int
	// Mode is Thin, Thick or EagerlyZeroed of a disk that a clone was given, as it
	// was asked for.
	Mode string
	// Policy is the name of its storage policy, "" for vCenter's default.
	Policy string
}

// Resources are what a virtual machine was given of processors in MHz or of memory in
// MiB. Zeros were not asked for.
type Resources struct {
	Reservation, Limit int64
	Shares             int
}

// keptAs is what a clone asked for that vCenter keeps with its storage, and vcsim not.
type keptAs struct {
	home  string
	disks map[string]Disk // by place
}

// storage remembers it.
type storage struct {
	mu   sync.Mutex
	kept map[types.ManagedObjectReference]keptAs
}

func (s *storage) set(vm types.ManagedObjectReference, kept keptAs) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kept == nil {
		s.kept = map[types.ManagedObjectReference]keptAs{}
	}
	s.kept[vm] = kept
}

func (s *storage) get(vm types.ManagedObjectReference) keptAs {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kept[vm]
}

func (s *storage) forget(vm types.ManagedObjectReference) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.kept, vm)
}

// placeOf names where a disk is attached.
func placeOf(device *types.VirtualDevice) string {
	if device.UnitNumber == nil {
		return fmt.Sprint(device.ControllerKey)
	}
	return fmt.Sprintf("%d:%d", device.ControllerKey, *device.UnitNumber)
}

// describe adds the disks, resources and keys of a locked VM to what is told of it.
func (s *Server) describe(view *VM, vm *mo.VirtualMachine) {
	kept := s.storage.get(vm.Self)
	view.HomePolicy = kept.home
	if vm.Config == nil {
		return
	}
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		disk := device.(*types.VirtualDisk)
		shown := kept.disks[placeOf(&disk.VirtualDevice)]
		shown.GiB = int(disk.CapacityInKB >> 20)
		if disk.UnitNumber != nil {
			shown.Unit = int(*disk.UnitNumber)
		}
		view.Disks = append(view.Disks, shown)
	}
	view.CPU, view.Memory = resourcesOf(vm.Config.CpuAllocation), resourcesOf(vm.Config.MemoryAllocation)
	view.FTEncryption, view.MigrateEncryption = vm.Config.FtEncryptionMode, vm.Config.MigrateEncryption
	if key := vm.Config.KeyId; key != nil && key.ProviderId != nil {
		view.KeyProvider, view.Key = key.ProviderId.Id, key.KeyId
	}
}

func resourcesOf(info *types.ResourceAllocationInfo) Resources {
	var r Resources
	if info == nil {
		return r
	}
	if info.Reservation != nil {
		r.Reservation = *info.Reservation
	}
	if info.Limit != nil && *info.Limit > 0 {
		r.Limit = *info.Limit
	}
	if info.Shares != nil && info.Shares.Level == types.SharesLevelCustom {
		r.Shares = int(info.Shares.Shares)
	}
	return r
}

// checkStorage refuses, when the task runs, policies that there are not, disks that
// have no place, resources that cannot be given, and keys that nobody has.
func (s *Server) checkStorage(template *simulator.VirtualMachine, r *request, req *types.CloneVM_Task) types.BaseMethodFault {
	kept, fault := s.keptBy(template, req)
	if fault != nil {
		return fault
	}
	r.kept = kept
	if fault := checkAdded(template, req.Spec.Config); fault != nil {
		return fault
	}
	memory := template.Config.Hardware.MemoryMB
	if req.Spec.Config.MemoryMB != 0 {
		memory = int32(req.Spec.Config.MemoryMB) //nolint:gosec // A test's numbers are small.
	}
	if fault := checkAllocation("memory", req.Spec.Config.MemoryAllocation, int64(memory)); fault != nil {
		return fault
	}
	if fault := checkAllocation("cpu", req.Spec.Config.CpuAllocation, 0); fault != nil {
		return fault
	}
	return s.checkCrypto(req.Spec.Config)
}

// keptBy gathers which policy is for what.
func (s *Server) keptBy(template *simulator.VirtualMachine, req *types.CloneVM_Task) (keptAs, types.BaseMethodFault) {
	kept := keptAs{disks: map[string]Disk{}}
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
			if found, ok := s.policies.byID(defined.ProfileId); ok {
				return found.Name
			}
			fault = &types.InvalidArgument{InvalidProperty: "spec.profile"}
		}
		return ""
	}
	kept.home = policyOf(home)
	devices := object.VirtualDeviceList(template.Config.Hardware.Device)
	for _, locator := range req.Spec.Location.Disk {
		disk, ok := devices.FindByKey(locator.DiskId).(*types.VirtualDisk)
		if !ok || req.Spec.Location.Datastore != nil && locator.Datastore != *req.Spec.Location.Datastore {
			return kept, &types.InvalidArgument{InvalidProperty: "spec.location.disk"}
		}
		kept.disks[placeOf(&disk.VirtualDevice)] = Disk{Policy: policyOf(locator.Profile)}
	}
	for _, change := range req.Spec.Config.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		if disk, ok := spec.Device.(*types.VirtualDisk); ok && spec.Operation == types.VirtualDeviceConfigSpecOperationAdd {
			kept.disks[placeOf(&disk.VirtualDevice)] = Disk{Policy: policyOf(spec.Profile), Mode: modeOf(disk)}
		}
	}
	return kept, fault
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

// checkAdded refuses disks that have no size, or no place of their own at a controller.
func checkAdded(template *simulator.VirtualMachine, config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	devices := object.VirtualDeviceList(template.Config.Hardware.Device)
	taken := map[string]bool{}
	for _, device := range devices {
		taken[placeOf(device.GetVirtualDevice())] = true
	}
	for i, change := range config.DeviceChange {
		spec := change.GetVirtualDeviceConfigSpec()
		disk, ok := spec.Device.(*types.VirtualDisk)
		if !ok || spec.Operation != types.VirtualDeviceConfigSpecOperationAdd {
			continue
		}
		invalid := &types.InvalidDeviceSpec{DeviceIndex: int32(i)} //nolint:gosec // A test's numbers are small.
		if disk.CapacityInKB <= 0 || disk.UnitNumber == nil || taken[placeOf(&disk.VirtualDevice)] {
			return invalid
		}
		if !hasUnit(devices.FindByKey(disk.ControllerKey), *disk.UnitNumber) {
			return invalid
		}
		taken[placeOf(&disk.VirtualDevice)] = true
	}
	return nil
}

// hasUnit reports whether a controller has a place for a disk. SCSI controllers are at
// one themselves.
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

// checkAllocation refuses to reserve more than there may be.
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

// checkCrypto wants a key that a provider has made. A policy that encrypts wants a
// default provider.
func (s *Server) checkCrypto(config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	providers := s.keyProviders()
	invalid := &types.InvalidArgument{InvalidProperty: "spec.config.crypto"}
	if len(providers) == 0 && slices.ContainsFunc(config.VmProfile, s.encrypts) {
		return invalid
	}
	encrypt, ok := config.Crypto.(*types.CryptoSpecEncrypt)
	if !ok {
		return nil
	}
	if encrypt.CryptoKeyId.ProviderId == nil {
		return invalid
	}
	provider := encrypt.CryptoKeyId.ProviderId.Id
	for _, known := range providers {
		native := known.ManagementType == string(types.KmipClusterInfoKmsManagementTypeNativeProvider)
		if known.ClusterId.Id == provider && (native || slices.Contains(s.Keys(provider), encrypt.CryptoKeyId.KeyId)) {
			return nil
		}
	}
	return invalid
}

func (s *Server) keyProviders() []types.KmipClusterInfo {
	manager := s.registry.CryptoManager()
	var providers []types.KmipClusterInfo
	s.locked(manager, func() { providers = slices.Clone(manager.KmipServers) })
	return providers
}

func (s *Server) encrypts(profile types.BaseVirtualMachineProfileSpec) bool {
	defined, ok := profile.(*types.VirtualMachineDefinedProfileSpec)
	if !ok {
		return false
	}
	p, _ := s.policies.byID(defined.ProfileId)
	return p.Encrypts
}

// completeStorage applies what vcsim leaves out. The clone is locked.
func (s *Server) completeStorage(vm *simulator.VirtualMachine, r *request, config *types.VirtualMachineConfigSpec) {
	s.storage.set(vm.Self, r.kept)
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

// AddKeyProvider registers a key provider, the first one as the default. A native one
// makes its keys itself.
func (s *Server) AddKeyProvider(name string, native bool) error {
	kind := types.KmipClusterInfoKmsManagementTypeUnknown
	if native {
		kind = types.KmipClusterInfoKmsManagementTypeNativeProvider
	}
	_, err := methods.RegisterKmsCluster(context.Background(), s.admin.client, &types.RegisterKmsCluster{
		This: s.registry.CryptoManager().Self, ClusterId: types.KeyProviderId{Id: name}, ManagementType: string(kind),
	})
	if err != nil {
		return fmt.Errorf("registering key provider %s: %w", name, err)
	}
	return nil
}

// Keys returns the keys that a key provider has made, sorted.
func (s *Server) Keys(provider string) []string {
	res, err := methods.ListKeys(context.Background(), s.admin.client, &types.ListKeys{This: s.registry.CryptoManager().Self})
	if err != nil {
		return nil
	}
	keys := map[string]bool{}
	for _, key := range res.Returnval {
		if key.ProviderId != nil && key.ProviderId.Id == provider {
			keys[key.KeyId] = true
		}
	}
	return slices.Sorted(maps.Keys(keys))
}

// SetFreeSpace says how much room there is on a datastore.
func (s *Server) SetFreeSpace(datacenter, name string, gib int64) error {
	datastore, err := find[*simulator.Datastore](s, path.Join("/", datacenter, "datastore", name))
	if err != nil {
		return err
	}
	s.locked(datastore, func() { datastore.Summary.FreeSpace = gib << 30 })
	return nil
}
