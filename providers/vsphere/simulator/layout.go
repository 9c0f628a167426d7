// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/rest"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// Layout is the initial inventory of a Server.
//
// Names within a datacenter refer to each other; New returns an error that names an invalid reference.
type Layout struct {
	Datacenters []Datacenter
	Tags        []Tag
	// Policies are the storage policies.
	Policies []StoragePolicy
}

// Datacenter is a datacenter with all its objects.
type Datacenter = vcsim.Datacenter

// Cluster is a compute cluster. DRS is enabled and fully automated.
type Cluster = vcsim.Cluster

// Rule is a DRS rule that runs the VMs of a group on the hosts of a group.
type Rule = vcsim.Rule

// Datastore is mounted by every host of its clusters.
type Datastore = vcsim.Datastore

// Network is connected to every host of its clusters.
type Network = vcsim.Network

// Template is a powered-off VM marked as template.
type Template = vcsim.Template

// Tag is a tag and the objects that it is attached to, by inventory path.
type Tag = rest.Tag

// build creates the layout's objects with vCenter's own API.
func (s *Server) build(layout Layout) error {
	vcsim.TrimHostModel()
	for _, policy := range layout.Policies {
		s.AddPolicy(policy)
	}
	builder := vcsim.DatacenterBuilder{
		Admin: s.admin, Inventory: s.inventory, Hosts: s.hosts, Datastores: s.datastores, DRS: s.drs,
	}
	for _, dc := range layout.Datacenters {
		if err := builder.Add(dc); err != nil {
			return fmt.Errorf("datacenter %q: %w", dc.Name, err)
		}
	}
	return s.tagging.CreateAll(layout.Tags)
}

// AddDatacenter creates another datacenter while the Server runs. Use MakeTag and AttachTag for its tags.
func (s *Server) AddDatacenter(dc Datacenter) error {
	buildMutex.Lock()
	defer buildMutex.Unlock()
	return s.build(Layout{Datacenters: []Datacenter{dc}})
}
