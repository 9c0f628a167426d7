// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// Datastores holds the removed datastores, by inventory path.
type Datastores struct {
	inventory *Inventory
	structure *StructureLock

	mu      sync.Mutex
	removed map[string]removedDatastore
}

func (d *Datastores) store(path string, taken removedDatastore) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.removed == nil {
		d.removed = map[string]removedDatastore{}
	}
	d.removed[path] = taken
}

func (d *Datastores) take(path string) (removedDatastore, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	taken, ok := d.removed[path]
	delete(d.removed, path)
	return taken, ok
}

type removedDatastore struct {
	datastore *simulator.Datastore
	users     []mo.Entity // datacenter, hosts and clusters
}

// NewDatastores returns Datastores without removed ones. Removing a datastore locks the structure.
func NewDatastores(i *Inventory, structure *StructureLock) *Datastores {
	return &Datastores{inventory: i, structure: structure}
}

// Remove removes a datastore from the inventory, as when its last host has unmounted it. VMs on it keep running and can be
// deleted, but not powered on.
func (d *Datastores) Remove(datacenter, name string) error {
	at := path.Join("/", datacenter, "datastore", name)
	ds, err := find[*simulator.Datastore](d.inventory, at)
	if err != nil {
		return err
	}
	defer d.structure.LockStructure()()
	taken := removedDatastore{datastore: ds, users: []mo.Entity{d.inventory.DatacenterOf(ds)}}
	for _, e := range append(d.inventory.Registry.All("HostSystem"), d.inventory.Registry.All("ClusterComputeResource")...) {
		if slices.Contains(datastoresOf(d.inventory.NewContext(), e), ds.Self) {
			taken.users = append(taken.users, e)
		}
	}
	ctx := d.inventory.NewContext()
	for _, user := range taken.users {
		d.setDatastores(ctx, user, func(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
			return slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return ref == ds.Self })
		})
	}
	folder, _ := Get[*simulator.Folder](d.inventory, ds.Parent)
	d.inventory.Registry.RemoveReference(ctx, folder, &folder.ChildEntity, ds.Self)
	d.inventory.Registry.Remove(ctx, ds.Self)
	d.inventory.Registry.Put(ds) // not visible to clients: vcsim still needs it for the VMs on it
	d.store(at, taken)
	return nil
}

// Restore reverts Remove.
func (d *Datastores) Restore(datacenter, name string) error {
	at := path.Join("/", datacenter, "datastore", name)
	taken, ok := d.take(at)
	if !ok {
		return fmt.Errorf("datastore %s has not been removed", at)
	}
	defer d.structure.LockStructure()()
	ctx, ds := d.inventory.NewContext(), taken.datastore
	folder, _ := Get[*simulator.Folder](d.inventory, ds.Parent)
	d.inventory.Registry.AddReference(ctx, folder, &folder.ChildEntity, ds.Self)
	for _, user := range taken.users {
		d.setDatastores(ctx, user, func(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
			return append(refs, ds.Self)
		})
	}
	d.inventory.Registry.Put(ds)
	return nil
}

// SetFreeSpace sets the free space of a datastore.
func (d *Datastores) SetFreeSpace(datacenter, name string, gib int64) error {
	datastore, err := find[*simulator.Datastore](d.inventory, path.Join("/", datacenter, "datastore", name))
	if err != nil {
		return err
	}
	d.inventory.WithLock(datastore, func() { datastore.Summary.FreeSpace = gib << 30 })
	return nil
}

func datastoresOf(ctx *simulator.Context, e mo.Entity) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	ctx.WithLock(e, func() { refs = slices.Clone(*datastoreField(e)) })
	return refs
}

func datastoreField(e mo.Entity) *[]types.ManagedObjectReference {
	switch e := e.(type) {
	case *simulator.HostSystem:
		return &e.Datastore
	case *simulator.ClusterComputeResource:
		return &e.Datastore
	case *simulator.Datacenter:
		return &e.Datastore
	}
	return &[]types.ManagedObjectReference{}
}

// setDatastores changes the datastore list of an object and notifies clients.
func (d *Datastores) setDatastores(ctx *simulator.Context, e mo.Entity, edit func([]types.ManagedObjectReference) []types.ManagedObjectReference) {
	ctx.WithLock(e, func() {
		refs := edit(slices.Clone(*datastoreField(e)))
		ctx.Update(e, []types.PropertyChange{{Name: "datastore", Val: refs}})
		if host, ok := e.(*simulator.HostSystem); ok {
			if system, ok := Get[*simulator.HostDatastoreSystem](d.inventory, host.ConfigManager.DatastoreSystem); ok {
				system.Datastore = slices.Clone(refs)
			}
		}
	})
}

// WithoutFiles returns a task body that destroys a VM whose datastore is removed, because vcsim would look for its files. It
// returns nil for other VMs. The VM is locked.
func (d *Datastores) WithoutFiles(ctx *simulator.Context, ref types.ManagedObjectReference) TaskBody {
	vm, ok := Get[*simulator.VirtualMachine](d.inventory, &ref)
	if !ok {
		return nil
	}
	host, ok := Get[*simulator.HostSystem](d.inventory, vm.Runtime.Host)
	if !ok {
		return nil
	}
	mounted := datastoresOf(ctx, host)
	if !slices.ContainsFunc(vm.Datastore, func(ref types.ManagedObjectReference) bool { return !slices.Contains(mounted, ref) }) {
		return nil
	}
	return func(*simulator.Task) (types.AnyType, types.BaseMethodFault) {
		answer := vm.UnregisterVM(ctx, &types.UnregisterVM{This: ref})
		if fault := answer.Fault(); fault != nil {
			return nil, faultOf(fault)
		}
		return nil, nil
	}
}
