// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// networks takes vcsim's own "VM Network" away, which every cluster has, and makes
// those of the layout.
func (b *site) networks() error {
	b.dropNetworks()
	for _, spec := range b.spec.Networks {
		clusters, err := b.selected(spec.Clusters)
		if err != nil {
			return fmt.Errorf("network %q: %w", spec.Name, err)
		}
		if spec.Distributed {
			err = b.addPortgroup(spec.Name, clusters)
		} else {
			err = b.addNetwork(spec.Name, clusters)
		}
		if err != nil {
			return fmt.Errorf("creating network %q: %w", spec.Name, err)
		}
	}
	return nil
}

func (b *site) dropNetworks() {
	s := b.server
	folder, _ := get[*simulator.Folder](s, &b.object.NetworkFolder)
	for _, ref := range slices.Clone(folder.ChildEntity) {
		s.registry.RemoveReference(s.call(), folder, &folder.ChildEntity, ref)
		s.registry.RemoveReference(s.call(), b.object, &b.object.Network, ref)
		s.registry.Remove(s.call(), ref)
	}
	for _, cluster := range b.clusters {
		cluster.Network = nil
		for _, host := range b.hosts([]*simulator.ClusterComputeResource{cluster}) {
			host.Network = nil
		}
	}
}

// addNetwork makes a standard network. vcsim's AddPortGroup makes one for a single
// host and does not tell the host.
func (b *site) addNetwork(name string, clusters []*simulator.ClusterComputeResource) error {
	s := b.server
	folder, _ := get[*simulator.Folder](s, &b.object.NetworkFolder)
	if _, exists := child(s.call(), folder.ChildEntity, name); exists {
		return fmt.Errorf("the name exists already")
	}
	network := &mo.Network{}
	network.Name = name
	network.Entity().Name = name
	s.registry.PutEntity(folder, s.registry.NewEntity(network))
	network.Summary = &types.NetworkSummary{Network: &network.Self, Name: name, Accessible: true}
	folder.ChildEntity = append(folder.ChildEntity, network.Self)
	b.object.Network = append(b.object.Network, network.Self)
	for _, cluster := range clusters {
		cluster.Network = append(cluster.Network, network.Self)
	}
	for _, host := range b.hosts(clusters) {
		host.Network = append(host.Network, network.Self)
		network.Host = append(network.Host, host.Self)
	}
	return nil
}

// addPortgroup makes a distributed switch of these clusters' hosts with one port group.
func (b *site) addPortgroup(name string, clusters []*simulator.ClusterComputeResource) error {
	s := b.server
	spec := &types.VMwareDVSConfigSpec{}
	spec.Name = name + "-switch"
	started, err := methods.CreateDVS_Task(context.Background(), s.admin.client, &types.CreateDVS_Task{
		This: b.object.NetworkFolder, Spec: types.DVSCreateSpec{ConfigSpec: spec},
	})
	if err != nil {
		return err
	}
	dvs, err := s.admin.awaitRef(started.Returnval)
	if err != nil {
		return err
	}
	members := &types.DVSConfigSpec{}
	for _, host := range b.hosts(clusters) {
		members.Host = append(members.Host, types.DistributedVirtualSwitchHostMemberConfigSpec{
			Operation: string(types.ConfigSpecOperationAdd), Host: host.Self,
		})
	}
	reconfigure, err := methods.ReconfigureDvs_Task(context.Background(), s.admin.client, &types.ReconfigureDvs_Task{This: dvs, Spec: members})
	if err != nil {
		return err
	}
	if _, err := s.admin.await(reconfigure.Returnval); err != nil {
		return err
	}
	added, err := methods.AddDVPortgroup_Task(context.Background(), s.admin.client, &types.AddDVPortgroup_Task{
		This: dvs,
		Spec: []types.DVPortgroupConfigSpec{{
			Name: name, NumPorts: 8, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
		}},
	})
	if err != nil {
		return err
	}
	if _, err = s.admin.await(added.Returnval); err != nil {
		return err
	}
	for _, cluster := range clusters { // vcsim lists a port group once for each host
		s.locked(cluster, func() { cluster.Network = distinct(cluster.Network) })
	}
	return nil
}

func distinct(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	var out []types.ManagedObjectReference
	for _, ref := range refs {
		if !slices.Contains(out, ref) {
			out = append(out, ref)
		}
	}
	return out
}
