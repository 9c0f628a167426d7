// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pool is a range of addresses, given by start and end or by subnet.
type Pool struct {
	// start is the first address.
	// +optional
	Start *IPAddressStr `json:"start,omitempty"`

	// end is the last address.
	// +optional
	End *IPAddressStr `json:"end,omitempty"`

	// subnet contains the addresses. Without start, the range begins with the address after the network address.
	// +optional
	Subnet *IPSubnetStr `json:"subnet,omitempty"`

	// prefix is the prefix length of the network. It takes precedence over the prefix of the IPPool.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of the network. It takes precedence over the gateway of the IPPool.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// dnsServers of the network. They take precedence over those of the IPPool.
	// +optional
	// +listType=atomic
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`
}

// AllocationStrategy is the order in which addresses are allocated.
// +kubebuilder:validation:Enum=sequential;random
type AllocationStrategy string

// IPPoolSpec defines ranges of addresses and their network settings.
type IPPoolSpec struct {
	// clusterName is the name of the Cluster that the pool belongs to.
	// +optional
	ClusterName *string `json:"clusterName,omitempty"`

	// pools are the ranges of addresses.
	// +optional
	// +listType=atomic
	Pools []Pool `json:"pools,omitempty"`

	// allocationStrategy is the order in which addresses are allocated.
	// +optional
	// +kubebuilder:default=sequential
	AllocationStrategy AllocationStrategy `json:"allocationStrategy,omitempty"`

	// preAllocations maps the name of a claim to the address reserved for it.
	// +optional
	PreAllocations map[string]IPAddressStr `json:"preAllocations,omitempty"`

	// prefix is the prefix length of the network.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of the network.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// dnsServers of the network.
	// +optional
	// +listType=atomic
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`

	// namePrefix is the prefix of the names of IPAddresses.
	// +required
	// +kubebuilder:validation:MinLength=1
	NamePrefix string `json:"namePrefix"`
}

// IPPoolStatus defines the observed state of an IPPool.
type IPPoolStatus struct {
	// lastUpdated is the time at which the status was last written.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// indexes maps the name of a claim to the address allocated to it.
	// +optional
	Allocations map[string]IPAddressStr `json:"indexes,omitempty"`
}

// IPPool is a pool of addresses for machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ippools,scope=Namespaced,categories=cluster-api,shortName=ipp;ippool;m3ipp;m3ippool;m3ippools;metal3ipp;metal3ippool;metal3ippools
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster that the pool belongs to"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type IPPool struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines ranges of addresses and their network settings.
	// +optional
	Spec IPPoolSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the pool.
	// +optional
	Status IPPoolStatus `json:"status,omitempty,omitzero"`
}

// IPPoolList is a list of IPPools.
//
// +kubebuilder:object:root=true
type IPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPPool `json:"items"`
}
