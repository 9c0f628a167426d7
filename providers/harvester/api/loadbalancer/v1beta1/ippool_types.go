// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPPoolSpec defines the addresses of a pool and who may use them.
type IPPoolSpec struct {
	// description of the pool.
	// +optional
	Description string `json:"description,omitempty"`

	// ranges of addresses.
	// +required
	// +listType=atomic
	Ranges []Range `json:"ranges"`

	// selector defines which load balancers use the pool without naming it.
	// +optional
	Selector Selector `json:"selector,omitempty,omitzero"`
}

// Range is a range of addresses in a subnet.
type Range struct {
	// rangeStart is the first address. Defaults to the first of the subnet.
	// +optional
	RangeStart string `json:"rangeStart,omitempty"`

	// rangeEnd is the last address. Defaults to the last of the subnet.
	// +optional
	RangeEnd string `json:"rangeEnd,omitempty"`

	// subnet, such as 172.17.1.0/24.
	// +required
	Subnet string `json:"subnet"`

	// gateway of the subnet, which is never allocated. Defaults to the first
	// address of the subnet.
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// Selector defines which load balancers a pool is for.
type Selector struct {
	// priority decides between matching pools: the highest one wins.
	// +optional
	Priority uint32 `json:"priority,omitempty"`

	// network of the addresses, as namespace/name.
	// +optional
	Network string `json:"network,omitempty"`

	// scope defines which load balancers may use the pool.
	// +optional
	// +listType=atomic
	Scope []Tuple `json:"scope,omitempty"`
}

// Tuple selects load balancers that may use a pool. * matches all.
type Tuple struct {
	// project of Rancher, as cluster/project or cluster:project.
	// +optional
	Project string `json:"project,omitempty"`

	// namespace of the load balancer.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// guestCluster is the name of a guest cluster.
	// +optional
	GuestCluster string `json:"guestCluster,omitempty"`
}

// IPPoolStatus records which addresses are allocated.
type IPPoolStatus struct {
	// total is the number of addresses in the pool.
	// +required
	Total int64 `json:"total"`

	// available is the number of free addresses.
	// +required
	Available int64 `json:"available"`

	// lastAllocated is the address that was allocated last.
	// +required
	LastAllocated string `json:"lastAllocated"`

	// allocated maps each address to its holder, as namespace/name. It is
	// incomplete if the pool has the annotation
	// loadbalancer.harvesterhci.io/blocks.
	// +optional
	// +mapType=atomic
	Allocated map[string]string `json:"allocated,omitempty"`

	// allocatedHistory maps each free address to its last holder.
	// +optional
	// +mapType=atomic
	AllocatedHistory map[string]string `json:"allocatedHistory,omitempty"`

	// released maps each quarantined address to the time when it was
	// released. During the quarantine, only the last holder can get the
	// address.
	// +optional
	// +mapType=atomic
	Released map[string]string `json:"released,omitempty"`

	// conditions of the pool.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// ReadyCondition is the only condition of a pool and of a load balancer.
const ReadyCondition = "Ready"

// Condition is a condition as Harvester writes it.
type Condition struct {
	// type of the condition.
	// +required
	Type string `json:"type"`

	// status of the condition: True, False or Unknown.
	// +required
	Status corev1.ConditionStatus `json:"status"`

	// lastUpdateTime is when the condition was last written.
	// +optional
	LastUpdateTime string `json:"lastUpdateTime,omitempty"`

	// lastTransitionTime is when the status last changed.
	// +optional
	LastTransitionTime string `json:"lastTransitionTime,omitempty"`

	// reason of the condition in one word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message is a human-readable description.
	// +optional
	Message string `json:"message,omitempty"`
}

// IPPool is a set of addresses for load balancers and machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ippools,scope=Cluster,shortName=pool;pools
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="DESCRIPTION",type="string",JSONPath=".spec.description"
// +kubebuilder:printcolumn:name="RANGES",type="string",JSONPath=".spec.ranges"
// +kubebuilder:printcolumn:name="Priority",type="string",JSONPath=".spec.selector.priority"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type IPPool struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the addresses of the pool and who may use them.
	// +required
	Spec IPPoolSpec `json:"spec"`

	// status records which addresses are allocated.
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
