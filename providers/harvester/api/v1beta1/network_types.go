// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// IPAMType is the source of a load balancer's address.
// +kubebuilder:validation:Enum=dhcp;pool
type IPAMType string

const (
	// DHCP requests the address from a DHCP server.
	DHCP IPAMType = "dhcp"

	// POOL allocates the address from an IPPool.
	POOL IPAMType = "pool"
)

// LoadBalancerConfig configures a load balancer that Harvester creates.
type LoadBalancerConfig struct {
	// ipamType is the source of the address: dhcp or pool.
	// +required
	IPAMType IPAMType `json:"ipamType"`

	// ipPoolRef is the name of an IPPool on Harvester from which the address
	// is allocated.
	// +optional
	IPPoolRef string `json:"ipPoolRef,omitempty"`

	// ipPool is an IPPool to create on Harvester for the address. It is
	// deleted with the cluster.
	// +optional
	IPPool IPPool `json:"ipPool,omitempty,omitzero"`

	// listeners are ports of the load balancer in addition to that of the API
	// server.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=64
	Listeners []Listener `json:"listeners,omitempty"`

	// description of the load balancer.
	// +optional
	Description string `json:"description,omitempty"`
}

// IPPool is an IPPool to create on Harvester.
type IPPool struct {
	// vmNetwork is the network of the addresses, as namespace/name or name.
	// +required
	VMNetwork string `json:"vmNetwork"`

	// subnet of the addresses, such as 172.17.1.0/24.
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

// VMNetworkConfig assigns addresses from IPPools to machines and configures
// their network. Exactly one of ipPoolRef, ipPoolRefs and ipPool must be set.
type VMNetworkConfig struct {
	// ipPoolRef is the name of an IPPool on Harvester.
	// +optional
	IPPoolRef string `json:"ipPoolRef,omitempty"`

	// ipPoolRefs are names of IPPools on Harvester, tried in order. A pool
	// that selects a network is used only for machines attached to it.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	IPPoolRefs []string `json:"ipPoolRefs,omitempty"`

	// ipPool is an IPPool to create on Harvester. It is deleted with the
	// cluster. Only the vmNetworkConfig of a HarvesterCluster may have it.
	// +optional
	IPPool *IPPool `json:"ipPool,omitempty"`

	// gateway of the network.
	// +required
	Gateway string `json:"gateway"`

	// subnetMask of the network, such as 255.255.0.0.
	// +required
	SubnetMask string `json:"subnetMask"`

	// dnsServers are the IP addresses of DNS servers for the machines.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSServers []string `json:"dnsServers,omitempty"`

	// dnsSearch lists DNS search domains.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSSearch []string `json:"dnsSearch,omitempty"`
}

// PoolRefs returns the names of the referenced pools in the order in which
// they are tried.
func (c *VMNetworkConfig) PoolRefs() []string {
	if len(c.IPPoolRefs) > 0 {
		return c.IPPoolRefs
	}
	if c.IPPoolRef != "" {
		return []string{c.IPPoolRef}
	}
	return nil
}

// NetworkConfig is a fixed address of a single machine and its network
// configuration.
type NetworkConfig struct {
	// address of the machine, with or without a prefix length, such as
	// 172.16.3.40/24. Without a prefix length, the mask is that of the
	// vmNetworkConfig that would apply otherwise, or 255.255.0.0.
	// +required
	Address string `json:"address"`

	// gateway of the network.
	// +required
	Gateway string `json:"gateway"`

	// dnsServers are the IP addresses of DNS servers for the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSServers []string `json:"dnsServers,omitempty"`

	// dnsSearch lists DNS search domains.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=32
	DNSSearch []string `json:"dnsSearch,omitempty"`
}
