// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Cloning creates the virtual machines of a vCenter.
type Cloning struct {
	inventory   *Inventory
	drs         *DRS
	policies    *Policies
	keys        *Keys
	permissions *Permissions
	storage     storageRecord

	mu   sync.Mutex
	macs uint32 // addresses allocated to cards so far
}

// NewCloning returns a Cloning that has not created any machine.
func NewCloning(i *Inventory, d *DRS, policies *Policies, keys *Keys, permissions *Permissions) *Cloning {
	return &Cloning{inventory: i, drs: d, policies: policies, keys: keys, permissions: permissions}
}

// clonePlan holds the parts of a clone request that vCenter stores or computes and vcsim does not.
type clonePlan struct {
	// sizes are the disk sizes in KiB, by device key.
	sizes map[int32]int64
	// storage holds the requested storage settings.
	storage StorageSettings
}

// Clone fills in what vCenter chooses itself before vcsim runs, which would place the clone on the template's host regardless of
// the pool and derive its UUIDs from its name. Errors fail the task, not the call, except for references to missing objects.
func (c *Cloning) Clone(req *types.CloneVM_Task) (TaskWork, types.BaseMethodFault) {
	spec := &req.Spec
	for _, ref := range []*types.ManagedObjectReference{&req.This, &req.Folder, spec.Location.Pool, spec.Location.Datastore, spec.Location.Host} {
		if ref != nil && c.inventory.Registry.Get(*ref) == nil {
			return TaskWork{}, &types.ManagedObjectNotFound{Obj: *ref}
		}
	}
	template, ok := Get[*simulator.VirtualMachine](c.inventory, &req.This)
	if !ok {
		return TaskWork{}, &types.ManagedObjectNotFound{Obj: req.This}
	}
	if spec.Config == nil {
		spec.Config = &types.VirtualMachineConfigSpec{}
	}
	if spec.Config.Uuid == "" {
		spec.Config.Uuid = uuid.NewString()
	}
	if spec.Config.InstanceUuid == "" || c.instanceUUIDTaken(spec.Config.InstanceUuid) {
		spec.Config.InstanceUuid = uuid.NewString()
	}
	p := &clonePlan{}
	fault := c.placeClone(template, spec)
	p.sizes = takeDiskEdits(spec)
	return TaskWork{
		Fault:  fault,
		Before: func(ctx *simulator.Context) types.BaseMethodFault { return c.checkClone(ctx, p, req) },
		After: func(ctx *simulator.Context, result types.AnyType) types.BaseMethodFault {
			return c.completeClone(ctx, p, req, result.(types.ManagedObjectReference))
		},
	}, nil
}

// checkClone rejects, when the task runs, requests that vcsim would execute incorrectly. The template is locked.
func (c *Cloning) checkClone(ctx *simulator.Context, p *clonePlan, req *types.CloneVM_Task) types.BaseMethodFault {
	if fault := c.checkName(ctx, req.Folder, req.Name); fault != nil {
		return fault
	}
	template, ok := Get[*simulator.VirtualMachine](c.inventory, &req.This)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: req.This}
	}
	if fault := c.checkSnapshot(req); fault != nil {
		return fault
	}
	if fault := checkDisks(template, p, linked(&req.Spec)); fault != nil {
		return fault
	}
	if fault := checkSockets(template, req.Spec.Config); fault != nil {
		return fault
	}
	if fault := c.checkStorage(template, p, req); fault != nil {
		return fault
	}
	return c.checkCards(ctx, template, req)
}

// completeClone applies what vcsim omits. The template and the clone, which is not visible to clients yet, are locked.
func (c *Cloning) completeClone(ctx *simulator.Context, p *clonePlan, req *types.CloneVM_Task, ref types.ManagedObjectReference) types.BaseMethodFault {
	vm, ok := Get[*simulator.VirtualMachine](c.inventory, &ref)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: ref}
	}
	template, _ := Get[*simulator.VirtualMachine](c.inventory, &req.This)
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
	completeDisks(vm, template, p, linked(&req.Spec))
	c.completeStorage(vm, p, config)
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device) {
		card, ok := device.(types.BaseVirtualEthernetCard)
		if ok && card.GetVirtualEthernetCard().AddressType != string(types.VirtualEthernetCardMacTypeManual) {
			card.GetVirtualEthernetCard().MacAddress = c.nextMAC()
		}
	}
	c.inventory.PublishConfig(ctx, ref)
	c.permissions.PublishClone(ctx, vm)
	return nil
}

// Create chooses a host if the client does not: vcsim's own choice corrupts the cluster's list of hosts.
func (c *Cloning) Create(req *types.CreateVM_Task) (TaskWork, types.BaseMethodFault) {
	work := TaskWork{Before: func(ctx *simulator.Context) types.BaseMethodFault {
		return c.checkName(ctx, req.This, req.Config.Name)
	}}
	cluster, ok := c.inventory.ClusterOfPool(&req.Pool)
	if !ok {
		return work, &types.ManagedObjectNotFound{Obj: req.Pool}
	}
	var file object.DatastorePath
	if req.Config.Files == nil || !file.FromString(req.Config.Files.VmPathName) {
		return work, nil // vcsim reports the error
	}
	host, ok := c.drs.Choose(c.drs.Hosts(cluster), func(h HostView) bool {
		_, mounted := child(c.inventory.NewContext(), h.Datastores, file.Datastore)
		return mounted && (req.Host == nil || *req.Host == h.Ref)
	})
	if !ok {
		work.Fault = &types.NoCompatibleHost{}
		return work, nil
	}
	req.Host = &host.Ref
	return work, nil
}

// checkName rejects a duplicate name in a folder.
func (c *Cloning) checkName(ctx *simulator.Context, folder types.ManagedObjectReference, name string) types.BaseMethodFault {
	f, ok := Get[*simulator.Folder](c.inventory, &folder)
	if !ok {
		return &types.ManagedObjectNotFound{Obj: folder}
	}
	if existing, ok := child(ctx, childRefs(ctx, f), name); ok {
		return &types.DuplicateName{Name: name, Object: existing.Reference()}
	}
	return nil
}

// placeClone chooses a host of the pool's cluster, as DRS does.
func (c *Cloning) placeClone(template *simulator.VirtualMachine, spec *types.VirtualMachineCloneSpec) types.BaseMethodFault {
	pool := spec.Location.Pool
	var datastore types.ManagedObjectReference
	c.inventory.WithLock(template, func() {
		if pool == nil && !template.Config.Template {
			pool = template.ResourcePool
		}
		datastore = template.Datastore[0]
	})
	cluster, ok := c.inventory.ClusterOfPool(pool)
	if !ok {
		return &types.InvalidArgument{InvalidProperty: "spec.location.pool"}
	}
	if spec.Location.Datastore != nil {
		datastore = *spec.Location.Datastore
	}
	needs := []types.ManagedObjectReference{datastore}
	if linked(spec) {
		c.inventory.WithLock(template, func() { needs = append(needs, template.Datastore[0]) }) // the parent disk
	}
	fits := func(host HostView) bool {
		wanted := spec.Location.Host == nil || *spec.Location.Host == host.Ref
		return wanted && !slices.ContainsFunc(needs, func(ref types.ManagedObjectReference) bool {
			return !slices.Contains(host.Datastores, ref)
		})
	}
	hosts := c.drs.Hosts(cluster)
	host, ok := c.drs.Choose(hosts, fits)
	if !ok {
		if spec.Location.Host == nil && slices.ContainsFunc(hosts, func(h HostView) bool { return h.Usable }) {
			return &types.InvalidDatastore{Datastore: &datastore, Name: c.inventory.Label(c.inventory.NewContext(), datastore)}
		}
		return &types.NoCompatibleHost{}
	}
	spec.Location.Host = &host.Ref
	return nil
}

func linked(spec *types.VirtualMachineCloneSpec) bool {
	return spec.Location.DiskMoveType == string(types.VirtualMachineRelocateDiskMoveOptionsCreateNewChildDiskBacking)
}

// instanceUUIDTaken reports whether a VM has the UUID. vCenter never has duplicates: it gives the new VM another one.
func (c *Cloning) instanceUUIDTaken(id string) bool {
	for _, e := range c.inventory.Registry.All("VirtualMachine") {
		vm, taken := e.(*simulator.VirtualMachine), false
		c.inventory.WithLock(vm, func() { taken = vm.Config != nil && vm.Config.InstanceUuid == id })
		if taken {
			return true
		}
	}
	return false
}

// takeDiskEdits removes disk sizes from the spec: vcsim would look for the template's file on the clone's host. They are applied
// once the clone exists.
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

// checkSockets rejects a number of CPUs that is not a multiple of the cores per socket. With 0 cores per socket, supported by
// vSphere 8 and later, vSphere chooses it.
func checkSockets(template *simulator.VirtualMachine, config *types.VirtualMachineConfigSpec) types.BaseMethodFault {
	hardware := template.Config.Hardware
	cores := cmp.Or(config.NumCoresPerSocket, hardware.NumCoresPerSocket)
	if cores != nil && *cores > 0 && cmp.Or(config.NumCPUs, hardware.NumCPU)%*cores != 0 {
		return &types.InvalidArgument{InvalidProperty: "spec.config.numCPUs"}
	}
	return nil
}

func (c *Cloning) checkSnapshot(req *types.CloneVM_Task) types.BaseMethodFault {
	ref := req.Spec.Snapshot
	if ref == nil {
		if linked(&req.Spec) {
			return &types.InvalidArgument{InvalidProperty: "spec.snapshot"}
		}
		return nil
	}
	if snapshot, ok := Get[*simulator.VirtualMachineSnapshot](c.inventory, ref); !ok || snapshot.Vm != req.This {
		return &types.ManagedObjectNotFound{Obj: *ref}
	}
	return nil
}

// checkDisks rejects shrinking a disk, and resizing a linked disk.
func checkDisks(template *simulator.VirtualMachine, p *clonePlan, linked bool) types.BaseMethodFault {
	disks := object.VirtualDeviceList(template.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil))
	for _, device := range disks {
		disk := device.(*types.VirtualDisk)
		if size, ok := p.sizes[disk.Key]; ok && (size < disk.CapacityInKB || linked && size != disk.CapacityInKB) {
			return &types.InvalidArgument{InvalidProperty: "spec.config.deviceChange.device.capacityInKB"}
		}
	}
	return nil
}

// checkCards rejects network cards on networks that the host is not connected to. vcsim accepts them, or panics if the name is
// unknown.
func (c *Cloning) checkCards(ctx *simulator.Context, template *simulator.VirtualMachine, req *types.CloneVM_Task) types.BaseMethodFault {
	host, ok := Get[*simulator.HostSystem](c.inventory, req.Spec.Location.Host)
	if !ok {
		return &types.NoCompatibleHost{}
	}
	reachable := children(ctx, host.Network)
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
		if card, ok := device.(types.BaseVirtualEthernetCard); ok && !reachesNetwork(ctx, reachable, card) {
			return &types.InvalidDeviceBacking{InvalidDeviceSpec: types.InvalidDeviceSpec{
				InvalidVmConfig: types.InvalidVmConfig{Property: "deviceChange.device.backing"},
			}}
		}
	}
	return nil
}

func completeDisks(vm, template *simulator.VirtualMachine, p *clonePlan, linked bool) {
	parents := object.VirtualDeviceList(template.Config.Hardware.Device)
	for _, device := range object.VirtualDeviceList(vm.Config.Hardware.Device).SelectByType((*types.VirtualDisk)(nil)) {
		disk := device.(*types.VirtualDisk)
		if size, ok := p.sizes[disk.Key]; ok {
			disk.CapacityInKB, disk.CapacityInBytes = size, size<<10
		}
		backing, ok := disk.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		parent, _ := parents.FindByKey(disk.Key).(*types.VirtualDisk)
		if ok && parent != nil && linked {
			backing.Parent, _ = parent.Backing.(*types.VirtualDiskFlatVer2BackingInfo)
		}
	}
}

// nextMAC returns an unused address of vCenter's range. vcsim lets clones keep the addresses of their template.
func (c *Cloning) nextMAC() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.macs++
	return fmt.Sprintf("00:50:56:%02x:%02x:%02x", 0x80|c.macs>>16&0x3f, c.macs>>8&0xff, c.macs&0xff)
}
