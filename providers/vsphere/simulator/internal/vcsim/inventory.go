// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Inventory is the inventory of a vCenter.
type Inventory struct {
	Registry *simulator.Registry
	root     types.ManagedObjectReference // folder
}

// NewInventory returns the inventory below a root folder.
func NewInventory(registry *simulator.Registry, root types.ManagedObjectReference) *Inventory {
	return &Inventory{Registry: registry, root: root}
}

// Get returns the object with this reference and type.
func Get[T mo.Reference](i *Inventory, ref *types.ManagedObjectReference) (T, bool) {
	var none T
	if ref == nil {
		return none, false
	}
	obj, ok := i.Registry.Get(*ref).(T)
	return obj, ok
}

// NewContext returns a separate vcsim context. vcsim's locks belong to contexts: goroutines that shared one would not exclude each
// other.
func (i *Inventory) NewContext() *simulator.Context {
	return &simulator.Context{
		Context: context.Background(),
		Map:     i.Registry,
		Session: &simulator.Session{
			UserSession: types.UserSession{Key: "simulator"},
			Registry:    simulator.NewRegistry(),
			Map:         i.Registry,
		},
	}
}

// WithLock calls f while the object is locked.
func (i *Inventory) WithLock(obj mo.Reference, f func()) {
	i.Registry.WithLock(i.NewContext(), obj, f)
}

// children returns the objects with these references.
func children(ctx *simulator.Context, refs []types.ManagedObjectReference) []mo.Entity {
	var out []mo.Entity
	for _, ref := range refs {
		if e, ok := ctx.Map.Get(ref).(mo.Entity); ok {
			out = append(out, e)
		}
	}
	return out
}

// child returns the object with this name.
func child(ctx *simulator.Context, refs []types.ManagedObjectReference, name string) (mo.Entity, bool) {
	for _, e := range children(ctx, refs) {
		if entityName(ctx, e) == name {
			return e, true
		}
	}
	return nil, false
}

// entityName returns an object's name. Networks have a second one, which is the one that a rename changes. The object may be
// locked by ctx, but by no other context.
func entityName(ctx *simulator.Context, e mo.Entity) string {
	var name string
	ctx.WithLock(e, func() {
		switch e := e.(type) {
		case *mo.Network:
			name = e.Name
		case *simulator.DistributedVirtualPortgroup:
			name = e.Name
		default:
			name = e.Entity().Name
		}
	})
	return name
}

// childRefs returns the children of an object on inventory paths.
func childRefs(ctx *simulator.Context, e mo.Entity) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	ctx.WithLock(e, func() {
		switch e := e.(type) {
		case *simulator.Folder:
			refs = slices.Clone(e.ChildEntity)
		case *simulator.Datacenter:
			refs = []types.ManagedObjectReference{e.VmFolder, e.HostFolder, e.DatastoreFolder, e.NetworkFolder}
		case *simulator.ClusterComputeResource:
			refs = append(slices.Clone(e.Host), *e.ResourcePool)
		case *simulator.ResourcePool:
			refs = slices.Clone(e.ResourcePool.ResourcePool)
		}
	})
	return refs
}

// ByPath returns the object at an inventory path, such as "/dc/vm/folder/vm".
func (i *Inventory) ByPath(path string) (mo.Entity, error) {
	var e mo.Entity = i.Registry.Get(i.root).(*simulator.Folder)
	ctx := i.NewContext()
	for _, name := range splitPath(path) {
		next, ok := child(ctx, childRefs(ctx, e), name)
		if !ok {
			return nil, fmt.Errorf("%s: %q does not exist in %q", path, name, entityName(ctx, e))
		}
		e = next
	}
	return e, nil
}

// find is ByPath for objects of a type.
func find[T mo.Entity](i *Inventory, path string) (T, error) {
	var none T
	e, err := i.ByPath(path)
	if err != nil {
		return none, err
	}
	typed, ok := e.(T)
	if !ok {
		return none, fmt.Errorf("%s is a %s", path, e.Reference().Type)
	}
	return typed, nil
}

// Clusters returns all compute clusters, sorted by name.
func (i *Inventory) Clusters() []*simulator.ClusterComputeResource {
	var out []*simulator.ClusterComputeResource
	for _, e := range i.Registry.All("ClusterComputeResource") {
		out = append(out, e.(*simulator.ClusterComputeResource))
	}
	slices.SortFunc(out, func(a, b *simulator.ClusterComputeResource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Cluster returns the compute cluster with this name or inventory path. A name must be unique.
func (i *Inventory) Cluster(name string) (*simulator.ClusterComputeResource, error) {
	if strings.HasPrefix(name, "/") {
		return find[*simulator.ClusterComputeResource](i, name)
	}
	var found []*simulator.ClusterComputeResource
	for _, c := range i.Clusters() {
		if c.Name == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d compute clusters are named %q", len(found), name)
	}
	return found[0], nil
}

// DatacenterOf returns the datacenter of an object.
func (i *Inventory) DatacenterOf(e mo.Entity) *simulator.Datacenter {
	for e != nil {
		if dc, ok := e.(*simulator.Datacenter); ok {
			return dc
		}
		parent := e.Entity().Parent
		if parent == nil {
			return nil
		}
		e, _ = i.Registry.Get(*parent).(mo.Entity)
	}
	return nil
}

// PathOf returns the inventory path of an object.
func (i *Inventory) PathOf(e mo.Entity) string {
	ctx := i.NewContext()
	var names []string
	for e != nil && e.Entity().Parent != nil {
		names = append(names, entityName(ctx, e))
		e, _ = i.Registry.Get(*e.Entity().Parent).(mo.Entity)
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

// splitPath returns the names in an inventory path.
func splitPath(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}

// HostRefs returns the hosts of a cluster.
func (i *Inventory) HostRefs(cluster *simulator.ClusterComputeResource) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	i.WithLock(cluster, func() { refs = slices.Clone(cluster.Host) })
	return refs
}

// ClusterOf returns the compute cluster of a VM.
func (i *Inventory) ClusterOf(vm *simulator.VirtualMachine) (*simulator.ClusterComputeResource, bool) {
	var host *types.ManagedObjectReference
	i.WithLock(vm, func() { host = vm.Runtime.Host })
	return i.ClusterOfHost(host)
}

// ClusterOfHost returns the compute cluster of a host.
func (i *Inventory) ClusterOfHost(ref *types.ManagedObjectReference) (*simulator.ClusterComputeResource, bool) {
	host, ok := Get[*simulator.HostSystem](i, ref)
	if !ok {
		return nil, false
	}
	return Get[*simulator.ClusterComputeResource](i, host.Parent)
}

// ClusterOfPool returns the compute cluster of a resource pool.
func (i *Inventory) ClusterOfPool(ref *types.ManagedObjectReference) (*simulator.ClusterComputeResource, bool) {
	pool, ok := Get[*simulator.ResourcePool](i, ref)
	if !ok {
		return nil, false
	}
	return Get[*simulator.ClusterComputeResource](i, &pool.Owner)
}

// Move moves a VM to another host of its cluster. The VM is locked by ctx.
func (i *Inventory) Move(ctx *simulator.Context, vm *simulator.VirtualMachine, to types.ManagedObjectReference) {
	from := *vm.Runtime.Host
	if from == to {
		return
	}
	if host, ok := Get[*simulator.HostSystem](i, &from); ok {
		i.Registry.RemoveReference(ctx, host, &host.Vm, vm.Self)
	}
	if host, ok := Get[*simulator.HostSystem](i, &to); ok {
		i.Registry.AppendReference(ctx, host, &host.Vm, vm.Self)
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "runtime.host", Val: &to},
		{Name: "summary.runtime.host", Val: &to},
	})
}

// VM returns the VM with this name, reference or inventory path.
func (i *Inventory) VM(vm string) (*simulator.VirtualMachine, error) {
	if strings.HasPrefix(vm, "/") {
		return find[*simulator.VirtualMachine](i, vm)
	}
	var found []*simulator.VirtualMachine
	for _, e := range i.Registry.All("VirtualMachine") {
		if e.Reference().Value == vm || entityName(i.NewContext(), e) == vm {
			found = append(found, e.(*simulator.VirtualMachine))
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d virtual machines are named %q", len(found), vm)
	}
	return found[0], nil
}

// NameOf returns the name of the object with this reference, or "".
func (i *Inventory) NameOf(ref *types.ManagedObjectReference) string {
	if e, ok := Get[mo.Entity](i, ref); ok {
		return entityName(i.NewContext(), e)
	}
	return ""
}

// Label returns the name of the object with this reference, or the reference itself if the object does not exist. The object may
// be locked by ctx.
func (i *Inventory) Label(ctx *simulator.Context, ref types.ManagedObjectReference) string {
	if e, ok := i.Registry.Get(ref).(mo.Entity); ok {
		return entityName(ctx, e)
	}
	return ref.Value
}

// PublishConfig notifies clients of a VM's configuration, because vcsim changes parts of it without notification.
func (i *Inventory) PublishConfig(ctx *simulator.Context, ref types.ManagedObjectReference) {
	vm, ok := Get[*simulator.VirtualMachine](i, &ref)
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

// EditVM changes a VM, given as for VM, while it is locked.
func (i *Inventory) EditVM(vm string, change func(*simulator.Context, *simulator.VirtualMachine)) error {
	machine, err := i.VM(vm)
	if err != nil {
		return err
	}
	ctx := i.NewContext()
	ctx.WithLock(machine, func() { change(ctx, machine) })
	return nil
}

// HostsOf returns the hosts of clusters.
func (i *Inventory) HostsOf(clusters []*simulator.ClusterComputeResource) []*simulator.HostSystem {
	var out []*simulator.HostSystem
	for _, cluster := range clusters {
		for _, e := range children(i.NewContext(), cluster.Host) {
			out = append(out, e.(*simulator.HostSystem))
		}
	}
	return out
}

// MakePath creates the missing objects on a path of folders or resource pools below another.
func (i *Inventory) MakePath(parent types.ManagedObjectReference, path string, add func(parent types.ManagedObjectReference, name string) (types.ManagedObjectReference, error)) error {
	for _, name := range splitPath(path) {
		e, _ := Get[mo.Entity](i, &parent)
		if existing, ok := child(i.NewContext(), childRefs(i.NewContext(), e), name); ok {
			parent = existing.Reference()
			continue
		}
		made, err := add(parent, name)
		if err != nil {
			return err
		}
		parent = made
	}
	return nil
}

// Host returns the host with this name in a cluster.
func (i *Inventory) Host(cluster *simulator.ClusterComputeResource, name string) (types.ManagedObjectReference, error) {
	host, ok := child(i.NewContext(), i.HostRefs(cluster), name)
	if !ok {
		return types.ManagedObjectReference{}, fmt.Errorf("cluster %q has no host %q", entityName(i.NewContext(), cluster), name)
	}
	return host.Reference(), nil
}

// Rename renames the object at an inventory path.
func (i *Inventory) Rename(path, name string) (mo.Entity, error) {
	e, err := i.ByPath(path)
	if err != nil {
		return nil, err
	}
	ctx := i.NewContext()
	ctx.WithLock(e, func() {
		e.Entity().Name = name // for networks, the update changes only the second name
		ctx.Update(e, []types.PropertyChange{{Name: "name", Val: name}})
	})
	return e, nil
}
