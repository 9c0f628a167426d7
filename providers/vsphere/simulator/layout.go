// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/drs"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/tagging"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/templates"
)

// Layout is the inventory a Server starts with.
//
// Names inside one datacenter refer to each other; New answers an error that
// names a reference which leads nowhere.
type Layout struct {
	Datacenters []Datacenter
	Tags        []Tag
	// Policies are the storage policies.
	Policies []StoragePolicy
}

// Datacenter is one datacenter with all that it holds.
type Datacenter struct {
	Name     string
	Clusters []Cluster
	// Folders are VM folders below the datacenter's own, such as "a/b".
	// Parents are made as needed.
	Folders    []string
	Datastores []Datastore
	Networks   []Network
	Templates  []Template
}

// Cluster is one compute cluster. DRS is on and fully automated.
type Cluster struct {
	Name string
	// Hosts are the names of its hosts. They should be unique in the layout.
	Hosts []string
	// Pools are resource pools below the cluster's root pool, such as "a/b".
	Pools []string
	// HostGroups maps a DRS host group to the names of its hosts.
	HostGroups map[string][]string
	// VMGroups maps a DRS VM group to the names of the templates in it; usually none.
	VMGroups map[string][]string
	Rules    []Rule
}

// Rule is a DRS rule that the VMs of a group run on hosts of a group.
type Rule = drs.Rule

// Datastore is mounted by every host of its clusters.
type Datastore struct {
	Name     string
	Clusters []string // empty: all of the datacenter
}

// Network is reachable from every host of its clusters.
type Network struct {
	Name     string
	Clusters []string // empty: all of the datacenter
	// Distributed makes it a port group of a distributed switch of its own,
	// else it is a standard network.
	Distributed bool
}

// Template is a powered-off VM marked as template.
type Template = templates.Template

// Tag is a tag and the objects that it is attached to, by inventory path.
type Tag = tagging.Tag
