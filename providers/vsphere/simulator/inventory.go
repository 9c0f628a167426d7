// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// get returns the object of that reference and type.
func get[T mo.Reference](s *Server, ref *types.ManagedObjectReference) (T, bool) {
	var none T
	if ref == nil {
		return none, false
	}
	obj, ok := s.registry.Get(*ref).(T)
	return obj, ok
}

// locked runs f while nobody else uses the object.
func (s *Server) locked(obj mo.Reference, f func()) {
	s.registry.WithLock(s.call(), obj, f)
}

// children returns the objects that the references lead to.
func children(ctx *simulator.Context, refs []types.ManagedObjectReference) []mo.Entity {
	var out []mo.Entity
	for _, ref := range refs {
		if e, ok := ctx.Map.Get(ref).(mo.Entity); ok {
			out = append(out, e)
		}
	}
	return out
}

// child returns the one of that name.
func child(ctx *simulator.Context, refs []types.ManagedObjectReference, name string) (mo.Entity, bool) {
	for _, e := range children(ctx, refs) {
		if nameOf(ctx, e) == name {
			return e, true
		}
	}
	return nil, false
}

// nameOf returns an object's name. Networks have a second one, which is the one
// that a rename changes. The object may be locked by ctx, but by no other.
func nameOf(ctx *simulator.Context, e mo.Entity) string {
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

// childRefs returns what is below an object on inventory paths.
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

// at returns the object at an inventory path, such as "/dc/vm/folder/vm".
func (s *Server) at(path string) (mo.Entity, error) {
	var e mo.Entity = s.registry.Get(s.admin.client.ServiceContent.RootFolder).(*simulator.Folder)
	ctx := s.call()
	for _, name := range split(path) {
		next, ok := child(ctx, childRefs(ctx, e), name)
		if !ok {
			return nil, fmt.Errorf("%s: there is no %q in %q", path, name, nameOf(ctx, e))
		}
		e = next
	}
	return e, nil
}

func find[T mo.Entity](s *Server, path string) (T, error) {
	var none T
	e, err := s.at(path)
	if err != nil {
		return none, err
	}
	typed, ok := e.(T)
	if !ok {
		return none, fmt.Errorf("%s is a %s", path, e.Reference().Type)
	}
	return typed, nil
}

// clusters returns all compute clusters, in the order of their names.
func (s *Server) clusters() []*simulator.ClusterComputeResource {
	var out []*simulator.ClusterComputeResource
	for _, e := range s.registry.All("ClusterComputeResource") {
		out = append(out, e.(*simulator.ClusterComputeResource))
	}
	slices.SortFunc(out, func(a, b *simulator.ClusterComputeResource) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// cluster returns the compute cluster of that name or inventory path. A name has
// to be unique.
func (s *Server) cluster(name string) (*simulator.ClusterComputeResource, error) {
	if strings.HasPrefix(name, "/") {
		return find[*simulator.ClusterComputeResource](s, name)
	}
	var found []*simulator.ClusterComputeResource
	for _, c := range s.clusters() {
		if c.Name == name {
			found = append(found, c)
		}
	}
	if len(found) != 1 {
		return nil, fmt.Errorf("%d compute clusters are named %q", len(found), name)
	}
	return found[0], nil
}

// datacenterOf returns the datacenter that an object lies in.
func (s *Server) datacenterOf(e mo.Entity) *simulator.Datacenter {
	for e != nil {
		if dc, ok := e.(*simulator.Datacenter); ok {
			return dc
		}
		parent := e.Entity().Parent
		if parent == nil {
			return nil
		}
		e, _ = s.registry.Get(*parent).(mo.Entity)
	}
	return nil
}

// pathOf returns the inventory path of an object.
func (s *Server) pathOf(e mo.Entity) string {
	ctx := s.call()
	var names []string
	for e != nil && e.Entity().Parent != nil {
		names = append(names, nameOf(ctx, e))
		e, _ = s.registry.Get(*e.Entity().Parent).(mo.Entity)
	}
	slices.Reverse(names)
	return "/" + strings.Join(names, "/")
}

func split(path string) []string {
	return strings.FieldsFunc(path, func(r rune) bool { return r == '/' })
}
