// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/simulator/esx"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// TrimHostModel removes unused parts of vcsim's host model that take half of the time of creating a host: vcsim copies the model
// through XML.
func TrimHostModel() {
	esx.HostSystem.Config.Certificate, esx.HostSystem.Config.Firewall = nil, nil
}

// AddCluster creates a compute cluster without hosts in a folder.
func (h *Hosts) AddCluster(admin *AdminClient, folder types.ManagedObjectReference, name string) (*simulator.ClusterComputeResource, error) {
	made, err := methods.CreateClusterEx(context.Background(), admin.Client, &types.CreateClusterEx{This: folder, Name: name})
	if err != nil {
		return nil, err
	}
	cluster, _ := Get[*simulator.ClusterComputeResource](h.inventory, &made.Returnval)
	h.ownSummary(*cluster.ResourcePool)
	return cluster, nil
}

// addHost creates a host of a cluster.
func addHost(admin *AdminClient, cluster *simulator.ClusterComputeResource, name string) error {
	started, err := methods.AddHost_Task(context.Background(), admin.Client, &types.AddHost_Task{
		This: cluster.Self, Spec: types.HostConnectSpec{HostName: name}, AsConnected: true,
	})
	if err != nil {
		return err
	}
	_, err = admin.Await(started.Returnval)
	return err
}

// ownSummary gives a pool its own summary. vcsim shares one between all pools of the process.
func (h *Hosts) ownSummary(ref types.ManagedObjectReference) {
	pool, _ := Get[*simulator.ResourcePool](h.inventory, &ref)
	summary := *pool.Summary.GetResourcePoolSummary()
	summary.Name = pool.Name
	pool.Summary = &summary
}

// AddPool creates the missing resource pools on a path below another, such as "a/b".
func (h *Hosts) AddPool(admin *AdminClient, parent types.ManagedObjectReference, path string) error {
	return h.inventory.MakePath(parent, path, func(parent types.ManagedObjectReference, name string) (types.ManagedObjectReference, error) {
		made, err := methods.CreateResourcePool(context.Background(), admin.Client, &types.CreateResourcePool{
			This: parent, Name: name, Spec: types.DefaultResourceConfigSpec(),
		})
		if err != nil {
			return parent, err
		}
		h.ownSummary(made.Returnval)
		return made.Returnval, nil
	})
}
