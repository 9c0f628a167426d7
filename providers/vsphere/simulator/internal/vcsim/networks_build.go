// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"
)

// networkBuilder creates the networks of a datacenter.
type networkBuilder struct {
	inventory  *Inventory
	admin      *AdminClient
	datacenter *simulator.Datacenter
}

// newNetworkBuilder returns a networkBuilder for a datacenter.
func newNetworkBuilder(i *Inventory, admin *AdminClient, datacenter *simulator.Datacenter) *networkBuilder {
	return &networkBuilder{inventory: i, admin: admin, datacenter: datacenter}
}

// RemoveDefault removes vcsim's own "VM Network", which every cluster has.
func (b *networkBuilder) RemoveDefault(clusters []*simulator.ClusterComputeResource) {
	folder, _ := Get[*simulator.Folder](b.inventory, &b.datacenter.NetworkFolder)
	for _, ref := range slices.Clone(folder.ChildEntity) {
		b.inventory.Registry.RemoveReference(b.inventory.NewContext(), folder, &folder.ChildEntity, ref)
		b.inventory.Registry.RemoveReference(b.inventory.NewContext(), b.datacenter, &b.datacenter.Network, ref)
		b.inventory.Registry.Remove(b.inventory.NewContext(), ref)
	}
	for _, cluster := range clusters {
		cluster.Network = nil
		for _, host := range b.inventory.HostsOf([]*simulator.ClusterComputeResource{cluster}) {
			host.Network = nil
		}
	}
}

// Add creates a standard network. vcsim's AddPortGroup creates one for a single host and does not update the host.
func (b *networkBuilder) Add(name string, clusters []*simulator.ClusterComputeResource) error {
	folder, _ := Get[*simulator.Folder](b.inventory, &b.datacenter.NetworkFolder)
	if _, exists := child(b.inventory.NewContext(), folder.ChildEntity, name); exists {
		return fmt.Errorf("the name already exists")
	}
	network := &mo.Network{}
	network.Name = name
	network.Entity().Name = name
	b.inventory.Registry.PutEntity(folder, b.inventory.Registry.NewEntity(network))
	network.Summary = &types.NetworkSummary{Network: &network.Self, Name: name, Accessible: true}
	folder.ChildEntity = append(folder.ChildEntity, network.Self)
	b.datacenter.Network = append(b.datacenter.Network, network.Self)
	for _, cluster := range clusters {
		cluster.Network = append(cluster.Network, network.Self)
	}
	for _, host := range b.inventory.HostsOf(clusters) {
		host.Network = append(host.Network, network.Self)
		network.Host = append(network.Host, host.Self)
	}
	return nil
}

// AddPortgroup creates a distributed switch for the hosts of these clusters, with one port group.
func (b *networkBuilder) AddPortgroup(name string, clusters []*simulator.ClusterComputeResource) error {
	spec := &types.VMwareDVSConfigSpec{}
	spec.Name = name + "-switch"
	started, err := methods.CreateDVS_Task(context.Background(), b.admin.Client, &types.CreateDVS_Task{
		This: b.datacenter.NetworkFolder, Spec: types.DVSCreateSpec{ConfigSpec: spec},
	})
	if err != nil {
		return err
	}
	dvs, err := b.admin.AwaitRef(started.Returnval)
	if err != nil {
		return err
	}
	members := &types.DVSConfigSpec{}
	for _, host := range b.inventory.HostsOf(clusters) {
		members.Host = append(members.Host, types.DistributedVirtualSwitchHostMemberConfigSpec{
			Operation: string(types.ConfigSpecOperationAdd), Host: host.Self,
		})
	}
	reconfigure, err := methods.ReconfigureDvs_Task(context.Background(), b.admin.Client, &types.ReconfigureDvs_Task{This: dvs, Spec: members})
	if err != nil {
		return err
	}
	if _, err := b.admin.Await(reconfigure.Returnval); err != nil {
		return err
	}
	added, err := methods.AddDVPortgroup_Task(context.Background(), b.admin.Client, &types.AddDVPortgroup_Task{
		This: dvs,
		Spec: []types.DVPortgroupConfigSpec{{
			Name: name, NumPorts: 8, Type: string(types.DistributedVirtualPortgroupPortgroupTypeEarlyBinding),
		}},
	})
	if err != nil {
		return err
	}
	if _, err = b.admin.Await(added.Returnval); err != nil {
		return err
	}
	for _, cluster := range clusters { // vcsim lists a port group once for each host
		b.inventory.WithLock(cluster, func() { cluster.Network = distinct(cluster.Network) })
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
