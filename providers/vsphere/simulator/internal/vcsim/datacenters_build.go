// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

// DatacenterBuilder creates datacenters with vCenter's own API and these parts.
type DatacenterBuilder struct {
	Admin      *AdminClient
	Inventory  *Inventory
	Hosts      *Hosts
	Datastores *Datastores
	DRS        *DRS
}

// datacenterCreation is a datacenter that is being created.
type datacenterCreation struct {
	DatacenterBuilder
	spec     Datacenter
	object   *simulator.Datacenter
	clusters []*simulator.ClusterComputeResource // as in the spec
}

// Add creates a datacenter. An error names the part that cannot be created.
func (b DatacenterBuilder) Add(spec Datacenter) error {
	made, err := methods.CreateDatacenter(context.Background(), b.Admin.Client, &types.CreateDatacenter{
		This: b.Admin.Client.ServiceContent.RootFolder, Name: spec.Name,
	})
	if err != nil {
		return fmt.Errorf("creating datacenter: %w", err)
	}
	dc, _ := Get[*simulator.Datacenter](b.Inventory, &made.Returnval)
	s := &datacenterCreation{DatacenterBuilder: b, spec: spec, object: dc}
	steps := []func() error{s.folders, s.computeClusters, s.networks, s.datastores, s.templates, s.groups}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (s *datacenterCreation) folders() error {
	for _, path := range s.spec.Folders {
		err := s.Inventory.MakePath(s.object.VmFolder, path, s.addFolder)
		if err != nil {
			return fmt.Errorf("creating folder %q: %w", path, err)
		}
	}
	return nil
}

func (s *datacenterCreation) addFolder(parent types.ManagedObjectReference, name string) (types.ManagedObjectReference, error) {
	made, err := methods.CreateFolder(context.Background(), s.Admin.Client, &types.CreateFolder{This: parent, Name: name})
	if err != nil {
		return parent, err
	}
	return made.Returnval, nil
}

func (s *datacenterCreation) computeClusters() error {
	for _, spec := range s.spec.Clusters {
		cluster, err := s.Hosts.AddCluster(s.Admin, s.object.HostFolder, spec.Name)
		if err != nil {
			return fmt.Errorf("creating cluster %q: %w", spec.Name, err)
		}
		s.clusters = append(s.clusters, cluster)
		for _, host := range spec.Hosts {
			if err := addHost(s.Admin, cluster, host); err != nil {
				return fmt.Errorf("adding host %q to cluster %q: %w", host, spec.Name, err)
			}
		}
		for _, pool := range spec.Pools {
			if err := s.Hosts.AddPool(s.Admin, *cluster.ResourcePool, pool); err != nil {
				return fmt.Errorf("creating pool %q in cluster %q: %w", pool, spec.Name, err)
			}
		}
	}
	return nil
}

// selected returns the clusters with these names, or all.
func (s *datacenterCreation) selected(names []string) ([]*simulator.ClusterComputeResource, error) {
	var out []*simulator.ClusterComputeResource
	for _, cluster := range s.clusters {
		if len(names) == 0 || slices.Contains(names, cluster.Name) {
			out = append(out, cluster)
		}
	}
	if len(names) > 0 && len(out) != len(names) {
		return nil, fmt.Errorf("not all of the clusters %s exist", strings.Join(names, ", "))
	}
	return out, nil
}

func (s *datacenterCreation) networks() error {
	builder := newNetworkBuilder(s.Inventory, s.Admin, s.object)
	builder.RemoveDefault(s.clusters)
	for _, spec := range s.spec.Networks {
		clusters, err := s.selected(spec.Clusters)
		if err != nil {
			return fmt.Errorf("network %q: %w", spec.Name, err)
		}
		add := builder.Add
		if spec.Distributed {
			add = builder.AddPortgroup
		}
		if err := add(spec.Name, clusters); err != nil {
			return fmt.Errorf("creating network %q: %w", spec.Name, err)
		}
	}
	return nil
}

func (s *datacenterCreation) datastores() error {
	for _, spec := range s.spec.Datastores {
		clusters, err := s.selected(spec.Clusters)
		if err != nil {
			return fmt.Errorf("datastore %q: %w", spec.Name, err)
		}
		if err := s.Datastores.Mount(s.Admin, spec.Name, s.Inventory.HostsOf(clusters)); err != nil {
			return err
		}
	}
	return nil
}

func (s *datacenterCreation) templates() error {
	builder := newTemplateBuilder(s.Inventory, s.Admin, s.spec.Name, s.clusters)
	for _, spec := range s.spec.Templates {
		if err := builder.Add(spec); err != nil {
			return fmt.Errorf("template %q: %w", spec.Name, err)
		}
	}
	return nil
}

// groups creates DRS groups and rules, and enables DRS.
func (s *datacenterCreation) groups() error {
	for i, spec := range s.spec.Clusters {
		setup := DRSSetup{HostGroups: spec.HostGroups, VMGroups: spec.VMGroups, Rules: spec.Rules}
		if err := s.DRS.SetUp(s.Admin, s.clusters[i], setup); err != nil {
			return err
		}
	}
	return nil
}
