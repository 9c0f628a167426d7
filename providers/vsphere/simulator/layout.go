// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

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
type Rule struct {
	Name, VMGroup, HostGroup string
	// Mandatory says "must run on", else "should run on"; nil means true.
	Mandatory *bool
	// Enabled: nil means true.
	Enabled *bool
}

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
type Template struct {
	Name string
	// Folder is a VM folder; empty is the datacenter's own.
	Folder string
	// GuestID is the guest operating system; empty is "ubuntu64Guest".
	GuestID string
	// CPUs, MemoryMiB and DiskGiB are 2, 2048 and 20 when zero.
	CPUs, MemoryMiB, DiskGiB int
	// FurtherGiB are the sizes of disks after the first one.
	FurtherGiB []int
	// CoresPerSocket is 1 when zero.
	CoresPerSocket int
	// HardwareVersion is that of the virtual hardware, such as vmx-10; empty is
	// the latest that the hosts support.
	HardwareVersion string
	// Snapshots are taken one upon the other; the last is the current one.
	Snapshots []string
	// Networks names the network of each network card. Empty: one card on the
	// first network that the template's cluster reaches.
	Networks []string
	// Cluster and Datastore say where it lies. Empty: the first cluster, and
	// the first datastore which that cluster mounts.
	Cluster, Datastore string
	// VirtualMachine leaves it an ordinary VM that is not marked as template.
	VirtualMachine bool
}

// Tag is a tag and the objects that it is attached to.
type Tag struct {
	Category, Name string
	// On holds inventory paths, such as "/dc/host/cluster".
	On []string
}
