// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Pool is a range of addresses: from start to end, or those of subnet.
type Pool struct {
	// start is the first address.
	// +optional
	Start *IPAddressStr `json:"start,omitempty"`

	// end is the last address.
	// +optional
	End *IPAddressStr `json:"end,omitempty"`

	// subnet that the addresses are in. Without start they begin with the one
	// after the network's own.
	// +optional
	Subnet *IPSubnetStr `json:"subnet,omitempty"`

	// prefix is the length of the network's prefix; it goes before that of the
	// IPPool.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int `json:"prefix,omitempty"`

	// gateway of the network; it goes before that of the IPPool.
	// +optional
	Gateway *IPAddressStr `json:"gateway,omitempty"`

	// dnsServers of the network; they go before those of the IPPool.
	// +optional
	// +listType=atomic
	DNSServers []IPAddressStr `json:"dnsServers,omitempty"`
}

// AllocationStrategy is the order in which addresses are given.
// +kubebuilder:validation:Enum=sequential;random
type AllocationStrategy string

// IPPoolSpec is ranges of addresses and what goes with them.
type IPPoolSpec struct {
	// clusterName is the name of the Cluster that the pool belongs to.
	// +optional
	ClusterName *string `json:"clusterName,omitempty"`

	// pools are the ranges of addresses.
	// +optional
	// +listType=atomic
	Pools []Pool `json:"pools,omitempty"`

	// allocationStrategy is the order in which addresses are given.
	// +optional
	// +kubebuilder:default=sequential
	AllocationStrategy AllocationStrategy `json:"allocationStrategy,omitempty"`

	// preAllocations are addresses by the name of the claim that gets them.
	// +optional
	PreAllocations map[string]IPAddressStr `json:"preAllocations,omitempty"`

	// prefix is the length of the network's prefix.
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

	// namePrefix is what names of IPAddresses begin with.
	// +required
	// +kubebuilder:validation:MinLength=1
	NamePrefix string `json:"namePrefix"`
}

// IPPoolStatus is which addresses were given.
type IPPoolStatus struct {
	// lastUpdated is when the status was written.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// indexes are addresses by the name of the claim that has them.
	// +optional
	Allocations map[string]IPAddressStr `json:"indexes,omitempty"`
}

// IPPool is where addresses of machines are from.
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

	// spec is ranges of addresses and what goes with them.
	// +optional
	Spec IPPoolSpec `json:"spec,omitempty,omitzero"`

	// status is which addresses were given.
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
