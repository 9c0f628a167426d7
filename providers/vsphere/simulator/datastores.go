// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"path"
	"slices"
	"sync"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vimfault"
)

// removedDatastores holds the datastores that have been taken away, by inventory path.
type removedDatastores struct {
	mu   sync.Mutex
	away map[string]removedDatastore
}

func (r *removedDatastores) put(path string, taken removedDatastore) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.away == nil {
		r.away = map[string]removedDatastore{}
	}
	r.away[path] = taken
}

func (r *removedDatastores) take(path string) (removedDatastore, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	taken, ok := r.away[path]
	delete(r.away, path)
	return taken, ok
}

type removedDatastore struct {
	datastore *simulator.Datastore
	users     []mo.Entity // datacenter, hosts and clusters
}

// RemoveDatastore takes a datastore out of the inventory, as when its last host
// has unmounted it. VMs on it run on and can be deleted, but not powered on.
func (s *Server) RemoveDatastore(datacenter, name string) error {
	at := path.Join("/", datacenter, "datastore", name)
	ds, err := find[*simulator.Datastore](s, at)
	if err != nil {
		return err
	}
	defer s.structure.own()()
	taken := removedDatastore{datastore: ds, users: []mo.Entity{s.datacenterOf(ds)}}
	for _, e := range append(s.registry.All("HostSystem"), s.registry.All("ClusterComputeResource")...) {
		if slices.Contains(datastoresOf(s.call(), e), ds.Self) {
			taken.users = append(taken.users, e)
		}
	}
	ctx := s.call()
	for _, user := range taken.users {
		s.setDatastores(ctx, user, func(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
			return slices.DeleteFunc(refs, func(ref types.ManagedObjectReference) bool { return ref == ds.Self })
		})
	}
	folder, _ := get[*simulator.Folder](s, ds.Parent)
	s.registry.RemoveReference(ctx, folder, &folder.ChildEntity, ds.Self)
	s.registry.Remove(ctx, ds.Self)
	s.registry.Put(ds) // out of everybody's sight: vcsim still needs it for the VMs on it
	s.removed.put(at, taken)
	return nil
}

// RestoreDatastore undoes RemoveDatastore.
func (s *Server) RestoreDatastore(datacenter, name string) error {
	at := path.Join("/", datacenter, "datastore", name)
	taken, ok := s.removed.take(at)
	if !ok {
		return fmt.Errorf("datastore %s has not been removed", at)
	}
	defer s.structure.own()()
	ctx, ds := s.call(), taken.datastore
	folder, _ := get[*simulator.Folder](s, ds.Parent)
	s.registry.AddReference(ctx, folder, &folder.ChildEntity, ds.Self)
	for _, user := range taken.users {
		s.setDatastores(ctx, user, func(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
			return append(refs, ds.Self)
		})
	}
	s.registry.Put(ds)
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

// setDatastores changes the list of an object and tells of it.
func (s *Server) setDatastores(ctx *simulator.Context, e mo.Entity, edit func([]types.ManagedObjectReference) []types.ManagedObjectReference) {
	ctx.WithLock(e, func() {
		refs := edit(slices.Clone(*datastoreField(e)))
		ctx.Update(e, []types.PropertyChange{{Name: "datastore", Val: refs}})
		if host, ok := e.(*simulator.HostSystem); ok {
			if system, ok := get[*simulator.HostDatastoreSystem](s, host.ConfigManager.DatastoreSystem); ok {
				system.Datastore = slices.Clone(refs)
			}
		}
	})
}

// withoutFiles returns how to destroy a VM whose datastore is away: vcsim would look
// for the files. It answers nil for others. The VM is locked.
func (s *Server) withoutFiles(ctx *simulator.Context, ref types.ManagedObjectReference) taskBody {
	vm, ok := get[*simulator.VirtualMachine](s, &ref)
	if !ok {
		return nil
	}
	host, ok := get[*simulator.HostSystem](s, vm.Runtime.Host)
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
			return nil, vimfault.Of(fault)
		}
		return nil, nil
	}
}
