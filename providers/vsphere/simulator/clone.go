// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"cmp"
	"slices"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// prepareClone fills in what vCenter works out for itself, ahead of vcsim, which
// would put the clone on the template's host whatever pool is asked for, and give
// it UUIDs that follow from its name. What is wrong fails the task, not the call,
// unless the reference leads nowhere.
func (s *Server) prepareClone(r *request, req *types.CloneVM_Task) types.BaseMethodFault {
	spec := &req.Spec
	for _, ref := range []*types.ManagedObjectReference{&req.This, &req.Folder, spec.Location.Pool, spec.Location.Datastore, spec.Location.Host} {
		if ref != nil && s.registry.Get(*ref) == nil {
			return &types.ManagedObjectNotFound{Obj: *ref}
		}
	}
	template, ok := get[*simulator.VirtualMachine](s, &req.This)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: req.This}
	}
	if spec.Config == nil {
		spec.Config = &types.VirtualMachineConfigSpec{}
	}
	if spec.Config.Uuid == "" {
		spec.Config.Uuid = uuid.NewString()
	}
	if spec.Config.InstanceUuid == "" || s.instanceUUIDTaken(spec.Config.InstanceUuid) {
		spec.Config.InstanceUuid = uuid.NewString()
	}
	r.fault = s.placeClone(template, spec)
	r.disks = takeDiskEdits(spec)
	return nil
}

// placeClone chooses a host of the pool's cluster, as DRS does.
func (s *Server) placeClone(template *simulator.VirtualMachine, spec *types.VirtualMachineCloneSpec) types.BaseMethodFault {
	pool := spec.Location.Pool
	var datastore types.ManagedObjectReference
	s.locked(template, func() {
		if pool == nil && !template.Config.Template {
			pool = template.ResourcePool
		}
		datastore = template.Datastore[0]
	})
	cluster, ok := s.clusterOfPool(pool)
	if !ok {
		return &types.InvalidArgument{InvalidProperty: "spec.location.pool"}
	}
	if spec.Location.Datastore != nil {
		datastore = *spec.Location.Datastore
	}
	needs := []types.ManagedObjectReference{datastore}
	if linked(spec) {
		s.locked(template, func() { needs = append(needs, template.Datastore[0]) }) // the parent disk
	}
	fits := func(host hostView) bool {
		wanted := spec.Location.Host == nil || *spec.Location.Host == host.ref
		return wanted && !slices.ContainsFunc(needs, func(ref types.ManagedObjectReference) bool {
			return !slices.Contains(host.datastores, ref)
		})
	}
	hosts := s.hostViews(cluster)
	host, ok := s.structure.choose(hosts, fits)
	if !ok {
		if spec.Location.Host == nil && slices.ContainsFunc(hosts, func(h hostView) bool { return h.usable }) {
			return &types.InvalidDatastore{Datastore: &datastore, Name: s.refName(s.call(), datastore)}
		}
		return &types.NoCompatibleHost{}
	}
	spec.Location.Host = &host.ref
	return nil
}

func linked(spec *types.VirtualMachineCloneSpec) bool {
	return spec.Location.DiskMoveType == string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
}

func (s *Server) refName(ctx *simulator.Context, ref types.ManagedObjectReference) string {
	if e, ok := s.registry.Get(ref).(mo.Entity); ok {
		return nameOf(ctx, e)
	}
	return ref.Value
}

// instanceUUIDTaken is asked because vCenter never has one twice: it gives the
// newcomer another.
func (s *Server) instanceUUIDTaken(id string) bool {
	for _, e := range s.registry.All("VirtualMachine") {
		vm, taken := e.(*simulator.VirtualMachine), false
		s.locked(vm, func() { taken = vm.Config != nil && vm.Config.InstanceUuid == id })
		if taken {
			return true
		}
	}
	return false
}

// takeDiskEdits takes disk sizes out of the spec: vcsim would look for the
// template's file under the clone's host. They are applied when the clone exists.
func takeDiskEdits(spec *types.VirtualMachineCloneSpec) map[int32]int64 {
	sizes := map[int32]int64{}
	rest := func(changes []types.BaseVirtualDeviceConfigSpec) []types.BaseVirtualDeviceConfigSpec {
		return slices.DeleteFunc(changes, func(change types.BaseVirtualDeviceConfigSpec) bool {
			device := change.GetVirtualDeviceConfigSpec()
			disk, ok := device.Device.(*types.VirtualDisk)
			if !ok || device.Operation != types.VirtualDeviceConfigSpecOperationEdit {
				return false
			}
			sizes[disk.Key] = max(disk.CapacityInKB, disk.CapacityInBytes>>10)
			return true
		})
	}
	spec.Location.DeviceChange = rest(spec.Location.DeviceChange)
	spec.Config.DeviceChange = rest(spec.Config.DeviceChange)
	return sizes
}

// checkClone refuses, when the task runs, what vcsim would do or stumble over. The
// template is locked.
func (s *Server) checkClone(ctx *simulator.Context, r *request, req *types.CloneVM_Task) types.BaseMethodFault {
	if fault := s.checkName(ctx, req.Folder, req.Name); fault != nil {
		return fault
	}
	template, ok := get[*simulator.VirtualMachine](s, &req.This)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: req.This}
	}
	if fault := s.checkSnapshot(req); fault != nil {
		return fault
	}
	if fault := checkDisks(template, r, linked(&req.Spec)); fault != nil {
		return fault
	}
	if fault := checkSockets(template, req.Spec.Config); fault != nil {
		return fault
	}
	if fault := s.checkStorage(template, r, req); fault != nil {
		return fault
	}
	return s.checkCards(ctx, template, req)
}

// checkSockets refuses processors that do not fill their sockets. With 0 cores per
// socket, which vSphere has from 8 on, it chooses itself.
func checkSockets(template *simulator.VirtualMachine, config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	hardware := template.Config.Hardware
	cores := cmp.Or(config.NumCoresPerSocket, hardware.NumCoresPerSocket)
	if cores != nil && *cores > 0 && cmp.Or(config.NumCPUs, hardware.NumCPU)%*cores != 0 {
		return &types.InvalidArgument{InvalidProperty: "spec.config.numCPUs"}
	}
	return nil
}

func (s *Server) checkSnapshot(req *types.CloneVM_Task) types.BaseMethodFault {
	ref := req.Spec.Snapshot
	if ref == nil {
		if linked(&req.Spec) {
			return &types.InvalidArgument{InvalidProperty: "spec.snapshot"}
		}
		return nil
	}
	if snapshot, ok := get[*simulator.VirtualMachineSnapshot](s, ref); !ok || snapshot.Vm != req.This {
		return &types.ManagedObjectNotFound{Obj: *ref}
	}
	return nil
}

// checkDisks refuses to shrink a disk, and to change the size of one that builds
// upon another.
func checkDisks(template *simulator.VirtualMachine, r *request, linked bool) types.BaseMethodFault {
	disks := object.VirtualDeviceList(template.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))
	for _, device := range disks {
		disk := device.(*types.VirtualDisk)
		if size, ok := r.disks[disk.Key]; ok && (size < disk.CapacityInKB || linked && size != disk.CapacityInKB) {
			return &types.InvalidArgument{InvalidProperty: "spec.config.deviceChange.device.capacityInKB"}
		}
	}
	return nil
}

// checkCards refuses network cards on networks that the host does not reach. vcsim
// does not mind, or panics when the name is unknown.
func (s *Server) checkCards(ctx *simulator.Context, template *simulator.VirtualMachine, req *types.CloneVM_Task) types.BaseMethodFault {
	host, ok := get[*simulator.HostSystem](s, req.Spec.Location.Host)
	if !ok {
		return &types.NoCompatibleHost{}
	}
	networks := children(ctx, host.Network)
	devices := object.VirtualDeviceList(template.Config.Hardware.Device)
	for _, changes := range [][]types.BaseVirtualDeviceConfigSpec{req.Spec.Location.DeviceChange, req.Spec.Config.DeviceChange} {
		for _, change := range changes {
			device := change.GetVirtualDeviceConfigSpec()
			switch device.Operation {
			case types.VirtualDeviceConfigSpecOperationRemove:
				key := device.Device.GetVirtualDevice().Key
				devices = devices.Select(func(d types.BaseVirtualDevice) bool { return d.GetVirtualDevice().Key != key })
			default:
				devices = append(slices.Clone(devices), device.Device)
			}
		}
	}
	for _, device := range devices {
		if card, ok := device.(types.BaseVirtualEthernetCard); ok && !reaches(ctx, networks, card) {
			return &types.InvalidDeviceBacking{InvalidDeviceSpec: types.InvalidDeviceSpec{
				InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange.device.backing"},
			}}
		}
	}
	return nil
}

func reaches(ctx *simulator.Context, networks []mo.Entity, card types.BaseVirtualEthernetCard) bool {
	return slices.ContainsFunc(networks, func(network mo.Entity) bool {
		switch backing := card.GetVirtualEthernetCard().Backing.(type) {
		case *types.VirtualEthernetCardNetworkBackingInfo:
			return nameOf(ctx, network) == backing.DeviceName
		case *types.VirtualEthernetCardDistributedVirtualPortBackingInfo:
			return network.Reference().Value == backing.Port.PortgroupKey
		}
		return true
	})
}

// completeClone applies what vcsim leaves out. The template is locked, and the
// clone too, which nobody has seen yet.
func (s *Server) completeClone(ctx *simulator.Context, r *request, req *types.CloneVM_Task, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	template, _ := get[*simulator.VirtualMachine](s, &req.This)
	config := req.Spec.Config
	if config.Annotation != "" {
		vm.Config.Annotation = config.Annotation
		vm.Summary.Config.Annotation = config.Annotation
	}
	if config.NumCoresPerSocket != nil {
		vm.Config.Hardware.NumCoresPerSocket = config.NumCoresPerSocket
	}
	if config.Flags != nil {
		vm.Config.Flags = *config.Flags
	}
	vm.Config.NestedHVEnabled = cmp.Or(config.NestedHVEnabled, template.Config.NestedHVEnabled)
	completeDisks(vm, template, r, linked(&req.Spec))
	s.completeStorage(vm, r, config)
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device) {
		card, ok := device.(types.BaseVirtualEthernetCard)
		if ok && card.GetVirtualEthernetCard().AddressType != string(types.VirtualEthernetCardMacTypeManual) {
			card.GetVirtualEthernetCard().MacAddress = s.structure.nextMAC()
		}
	}
	s.publishConfig(ctx, ref)
	s.present(ctx, vm)
	return nil
}

func completeDisks(vm, template *simulator.VirtualMachine, r *request, linked bool) {
	parents := object.VirtualDeviceList(template.Config.Hardware.Device)
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		disk := device.(*types.VirtualDisk)
		if size, ok := r.disks[disk.Key]; ok {
			disk.CapacityInKB, disk.CapacityInBytes = size, size<<10
		}
		backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		parent, _ := parents.FindByKey(disk.Key).(*types.VirtualDisk)
		if ok && parent != nil && linked {
			backing.Parent, _ = parent.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		}
	}
}

// publishConfig tells of a VM's configuration, parts of which vcsim changes in silence.
func (s *Server) publishConfig(ctx *simulator.Context, ref types.ManagedObjectReference) {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "name", Val: vm.Name},
		{Name: "config.name", Val: vm.Config.Name},
		{Name: "config.annotation", Val: vm.Config.Annotation},
		{Name: "config.uuid", Val: vm.Config.Uuid},
		{Name: "config.instanceUuid", Val: vm.Config.InstanceUuid},
		{Name: "config.hardware.device", Val: vm.Config.Hardware.Device},
		{Name: "summary.config.name", Val: vm.Name},
		{Name: "summary.config.instanceUuid", Val: vm.Summary.Config.InstanceUuid},
	})
}

// prepareCreate chooses a host where the client leaves it open: vcsim's own choice
// damages the cluster's list of hosts.
func (s *Server) prepareCreate(r *request, req *types.CreateVM_Task) types.BaseMethodFault {
	cluster, ok := s.clusterOfPool(&req.Pool)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: req.Pool}
	}
	var file object.DatastorePath
	if req.Config.Files == nil || !file.FromString(req.Config.Files.VmPathName) {
		return nil // vcsim says what is wrong
	}
	host, ok := s.structure.choose(s.hostViews(cluster), func(h hostView) bool {
		_, mounted := child(s.call(), h.datastores, file.Datastore)
		return mounted && (req.Host == nil || *req.Host == h.ref)
	})
	if !ok {
		r.fault = &types.NoCompatibleHost{}
		return nil
	}
	req.Host = &host.ref
	return nil
}

// checkName refuses a second object of a name in a folder.
func (s *Server) checkName(ctx *simulator.Context, folder types.ManagedObjectReference, name string) types.BaseMethodFault {
	f, ok := get[*simulator.Folder](s, &folder)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: folder}
	}
	if existing, ok := child(ctx, childRefs(ctx, f), name); ok {
		return &types.DuplicateName{Name: name, Object: existing.Reference()}
	}
	return nil
}
