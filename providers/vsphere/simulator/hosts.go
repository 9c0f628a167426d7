// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// hostView is a host as placement sees it.
type hostView struct {
	ref        types.ManagedObjectReference
	name       string
	usable     bool
	datastores []types.ManagedObjectReference
}

// hostViews returns the hosts of a cluster.
func (s *Server) hostViews(cluster *simulator.ClusterComputeResource) []hostView {
	var views []hostView
	for _, ref := range s.hostRefs(cluster) {
		host, ok := get[*simulator.HostSystem](s, &ref)
		if !ok {
			continue
		}
		s.locked(host, func() {
			views = append(views, hostView{
				ref:  ref,
				name: host.Name,
				usable: host.Runtime.ConnectionState == types.HostSystemConnectionStateConnected &&
					!host.Runtime.InMaintenanceMode,
				datastores: slices.Clone(host.Datastore),
			})
		})
	}
	return views
}

func (s *Server) hostRefs(cluster *simulator.ClusterComputeResource) []types.ManagedObjectReference {
	var refs []types.ManagedObjectReference
	s.locked(cluster, func() { refs = slices.Clone(cluster.Host) })
	return refs
}

// clusterOf returns the compute cluster that a VM runs in.
func (s *Server) clusterOf(vm *simulator.VirtualMachine) (*simulator.ClusterComputeResource, bool) {
	var host *types.ManagedObjectReference
	s.locked(vm, func() { host = vm.Runtime.Host })
	return s.clusterOfHost(host)
}

func (s *Server) clusterOfHost(ref *types.ManagedObjectReference) (*simulator.ClusterComputeResource, bool) {
	host, ok := get[*simulator.HostSystem](s, ref)
	if !ok {
		return nil, false
	}
	return get[*simulator.ClusterComputeResource](s, host.Parent)
}

// clusterOfPool returns the compute cluster that a resource pool belongs to.
func (s *Server) clusterOfPool(ref *types.ManagedObjectReference) (*simulator.ClusterComputeResource, bool) {
	pool, ok := get[*simulator.ResourcePool](s, ref)
	if !ok {
		return nil, false
	}
	return get[*simulator.ClusterComputeResource](s, &pool.Owner)
}

// move puts a VM on another host of its cluster. The VM is locked by ctx.
func (s *Server) move(ctx *simulator.Context, vm *simulator.VirtualMachine, to types.ManagedObjectReference) {
	from := *vm.Runtime.Host
	if from == to {
		return
	}
	if host, ok := get[*simulator.HostSystem](s, &from); ok {
		s.registry.RemoveReference(ctx, host, &host.Vm, vm.Self)
	}
	if host, ok := get[*simulator.HostSystem](s, &to); ok {
		s.registry.AppendReference(ctx, host, &host.Vm, vm.Self)
	}
	ctx.Update(vm, []types.PropertyChange{
		{Name: "runtime.host", Val: &to},
		{Name: "summary.runtime.host", Val: &to},
	})
}
