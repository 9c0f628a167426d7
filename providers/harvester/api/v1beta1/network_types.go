// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// IPAMType is where the address of a load balancer comes from.
// +kubebuilder:validation:Enum=dhcp;pool
type IPAMType string

const (
	// DHCP has the address from a DHCP server.
	DHCP IPAMType = "dhcp"

	// POOL has the address from an IPPool.
	POOL IPAMType = "pool"
)

// LoadBalancerConfig is a load balancer that Harvester makes.
type LoadBalancerConfig struct {
	// ipamType is where the address comes from: dhcp or pool.
	// +required
	IPAMType IPAMType `json:"ipamType"`

	// ipPoolRef is the name of an IPPool on Harvester that the address is taken
	// from.
	// +optional
	IPPoolRef string `json:"ipPoolRef,omitempty"`

	// ipPool is an IPPool to make on Harvester, for the address. It goes with
	// the cluster.
	// +optional
	IPPool IPPool `json:"ipPool,omitempty,omitzero"`

	// listeners are ports of the load balancer beside that of the API server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Listeners []Listener `json:"listeners,omitempty"`

	// description of the load balancer.
	// +optional
	Description string `json:"description,omitempty"`
}

// IPPool is an IPPool to make on Harvester.
type IPPool struct {
	// vmNetwork is the network that the addresses are of, as namespace/name or
	// name.
	// +required
	VMNetwork string `json:"vmNetwork"`

	// subnet that the addresses are in, such as 172.17.1.0/24.
	// +required
	Subnet string `json:"subnet"`

	// gateway of the subnet.
	// +required
	Gateway string `json:"gateway"`

	// rangeStart is the first address. Defaults to the first of the subnet.
	// +optional
	RangeStart string `json:"rangeStart,omitempty"`

	// rangeEnd is the last address. Defaults to the last of the subnet.
	// +optional
	RangeEnd string `json:"rangeEnd,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	// name of the listener.
	// +required
	Name string `json:"name"`

	// port of the load balancer.
	// +required
	Port int32 `json:"port"`

	// protocol is TCP or UDP.
	// +required
	// +kubebuilder:validation:Enum=TCP;UDP
	Protocol corev1.Protocol `json:"protocol"`

	// backendPort is the port of the machines.
	// +required
	BackendPort int32 `json:"backendPort"`
}

// VMNetworkConfig gives machines addresses from pools, and what goes with an
// address. Exactly one of ipPoolRef, ipPoolRefs and ipPool is to be set.
type VMNetworkConfig struct {
	// ipPoolRef is the name of an IPPool on Harvester.
	// +optional
	IPPoolRef string `json:"ipPoolRef,omitempty"`

	// ipPoolRefs are names of IPPools on Harvester. They are tried in their
	// order. A pool that selects a network is only for machines attached to it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	IPPoolRefs []string `json:"ipPoolRefs,omitempty"`

	// ipPool is an IPPool to make on Harvester. It goes with the cluster. Only a
	// HarvesterCluster's own vmNetworkConfig can have it.
	// +optional
	IPPool *IPPool `json:"ipPool,omitempty"`

	// gateway of the network.
	// +required
	Gateway string `json:"gateway"`

	// subnetMask of the network, such as 255.255.0.0.
	// +required
	SubnetMask string `json:"subnetMask"`

	// dnsServers of the machines, by address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSServers []string `json:"dnsServers,omitempty"`

	// dnsSearch are domains that names are looked up in.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSSearch []string `json:"dnsSearch,omitempty"`
}

// PoolRefs returns the names of the pools that are referred to, in the order in
// which they are tried.
func (c *VMNetworkConfig) PoolRefs() []string {
	if len(c.IPPoolRefs) > 0 {
		return c.IPPoolRefs
	}
	if c.IPPoolRef != "" {
		return []string{c.IPPoolRef}
	}
	return nil
}

// NetworkConfig is a fixed address of one machine, and what goes with it.
type NetworkConfig struct {
	// address of the machine, with or without the length of its prefix, such as
	// 172.16.3.40/24. Without it the mask is that of the vmNetworkConfig which
	// would apply otherwise, or 255.255.0.0.
	// +required
	Address string `json:"address"`

	// gateway of the network.
	// +required
	Gateway string `json:"gateway"`

	// dnsServers of the machine, by address.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSServers []string `json:"dnsServers,omitempty"`

	// dnsSearch are domains that names are looked up in.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSSearch []string `json:"dnsSearch,omitempty"`
}
