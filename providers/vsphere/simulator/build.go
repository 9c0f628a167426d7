// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/drs"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/hosts"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/networks"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/templates"
)

// build makes the layout's objects through vCenter's own API.
func (s *Server) build(layout Layout) error {
	hosts.Lighten()
	for _, policy := range layout.Policies {
		s.AddPolicy(policy)
	}
	for _, dc := range layout.Datacenters {
		if err := s.buildDatacenter(dc); err != nil {
			return fmt.Errorf("datacenter %q: %w", dc.Name, err)
		}
	}
	return s.tagging.Make(layout.Tags)
}

// site is a datacenter while it is being built.
type site struct {
	server   *Server
	spec     Datacenter
	object   *simulator.Datacenter
	clusters []*simulator.ClusterComputeResource // as in the spec
}

func (s *Server) buildDatacenter(spec Datacenter) error {
	made, err := methods.CreateDatacenter(context.Background(), s.operator.Client, &types.CreateDatacenter{
		This: s.operator.Client.ServiceContent.RootFolder, Name: spec.Name,
	})
	if err != nil {
		return fmt.Errorf("creating it: %w", err)
	}
	dc, _ := inventory.Get[*simulator.Datacenter](s.inventory, &made.Returnval)
	b := &site{server: s, spec: spec, object: dc}
	steps := []func() error{b.folders, b.computeClusters, b.networks, b.datastores, b.templates, b.groups}
	for _, step := range steps {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

func (b *site) folders() error {
	for _, path := range b.spec.Folders {
		err := b.server.inventory.MakePath(b.object.VmFolder, path, b.addFolder)
		if err != nil {
			return fmt.Errorf("creating folder %q: %w", path, err)
		}
	}
	return nil
}

func (b *site) addFolder(parent types.ManagedObjectReference, name string) (types.ManagedObjectReference, error) {
	made, err := methods.CreateFolder(context.Background(), b.server.operator.Client, &types.CreateFolder{This: parent, Name: name})
	if err != nil {
		return parent, err
	}
	return made.Returnval, nil
}

func (b *site) computeClusters() error {
	for _, spec := range b.spec.Clusters {
		cluster, err := b.server.hosts.AddCluster(b.server.operator, b.object.HostFolder, spec.Name)
		if err != nil {
			return fmt.Errorf("creating cluster %q: %w", spec.Name, err)
		}
		b.clusters = append(b.clusters, cluster)
		for _, host := range spec.Hosts {
			if err := hosts.Add(b.server.operator, cluster, host); err != nil {
				return fmt.Errorf("adding host %q to cluster %q: %w", host, spec.Name, err)
			}
		}
		for _, pool := range spec.Pools {
			if err := b.server.hosts.AddPool(b.server.operator, *cluster.ResourcePool, pool); err != nil {
				return fmt.Errorf("creating pool %q in cluster %q: %w", pool, spec.Name, err)
			}
		}
	}
	return nil
}

// selected returns the clusters of those names, or all.
func (b *site) selected(names []string) ([]*simulator.ClusterComputeResource, error) {
	var out []*simulator.ClusterComputeResource
	for _, cluster := range b.clusters {
		if len(names) == 0 || slices.Contains(names, cluster.Name) {
			out = append(out, cluster)
		}
	}
	if len(names) > 0 && len(out) != len(names) {
		return nil, fmt.Errorf("clusters %s: not all of them exist", strings.Join(names, ", "))
	}
	return out, nil
}

func (b *site) networks() error {
	builder := networks.Build(b.server.inventory, b.server.operator, b.object)
	builder.Drop(b.clusters)
	for _, spec := range b.spec.Networks {
		clusters, err := b.selected(spec.Clusters)
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

func (b *site) datastores() error {
	for _, spec := range b.spec.Datastores {
		clusters, err := b.selected(spec.Clusters)
		if err != nil {
			return fmt.Errorf("datastore %q: %w", spec.Name, err)
		}
		if err := b.server.datastores.Mount(b.server.operator, spec.Name, b.server.inventory.HostsOf(clusters)); err != nil {
			return err
		}
	}
	return nil
}

func (b *site) templates() error {
	builder := templates.Build(b.server.inventory, b.server.operator, b.spec.Name, b.clusters)
	for _, spec := range b.spec.Templates {
		if err := builder.Add(spec); err != nil {
			return fmt.Errorf("template %q: %w", spec.Name, err)
		}
	}
	return nil
}

// groups makes DRS groups and rules, and switches DRS on.
func (b *site) groups() error {
	for i, spec := range b.spec.Clusters {
		setup := drs.Setup{HostGroups: spec.HostGroups, VMGroups: spec.VMGroups, Rules: spec.Rules}
		if err := b.server.drs.SetUp(b.server.operator, b.clusters[i], setup); err != nil {
			return err
		}
	}
	return nil
}
