// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

// Datacenter is a datacenter with all its objects.
type Datacenter struct {
	Name     string
	Clusters []Cluster
	// Folders are VM folders below the datacenter's own, such as "a/b". Parents are created as needed.
	Folders    []string
	Datastores []Datastore
	Networks   []Network
	Templates  []Template
}

// Cluster is a compute cluster. DRS is enabled and fully automated.
type Cluster struct {
	Name string
	// Hosts are the names of its hosts. They should be unique in the layout.
	Hosts []string
	// Pools are resource pools below the cluster's root pool, such as "a/b".
	Pools []string
	// HostGroups maps a DRS host group to the names of its hosts.
	HostGroups map[string][]string
	// VMGroups maps a DRS VM group to the names of its templates; usually none.
	VMGroups map[string][]string
	Rules    []Rule
}

// Datastore is mounted by every host of its clusters.
type Datastore struct {
	Name     string
	Clusters []string // empty means all of the datacenter
}

// Network is connected to every host of its clusters.
type Network struct {
	Name     string
	Clusters []string // empty means all of the datacenter
	// Distributed makes it a port group of its own distributed switch instead of a standard network.
	Distributed bool
}
