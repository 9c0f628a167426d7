// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPPoolSpec is which addresses a pool has, and for whom.
type IPPoolSpec struct {
	// description of the pool.
	// +optional
	Description string `json:"description,omitempty"`

	// ranges of addresses.
	// +required
	// +listType=atomic
	Ranges []Range `json:"ranges"`

	// selector is what the pool is for when nobody names it.
	// +optional
	Selector Selector `json:"selector,omitempty,omitzero"`
}

// Range is addresses of one subnet.
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

	// gateway of the subnet, which is never given. Defaults to the first address
	// of the subnet.
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// Selector is what a pool is for.
type Selector struct {
	// priority decides between pools that suit: the highest has it.
	// +optional
	Priority uint32 `json:"priority,omitempty"`

	// network that the addresses are of, as namespace/name.
	// +optional
	Network string `json:"network,omitempty"`

	// scope is who may have addresses.
	// +optional
	// +listType=atomic
	Scope []Tuple `json:"scope,omitempty"`
}

// Tuple is somebody who may have addresses. * stands for all.
type Tuple struct {
	// project of Rancher, as cluster/project or cluster:project.
	// +optional
	Project string `json:"project,omitempty"`

	// namespace of the load balancer.
	// +optional
	Namespace string `json:"namespace,omitempty"`

	// guestCluster is the name of a cluster.
	// +optional
	GuestCluster string `json:"guestCluster,omitempty"`
}

// IPPoolStatus is which addresses were given.
type IPPoolStatus struct {
	// total is how many addresses the pool has.
	// +required
	Total int64 `json:"total"`

	// available is how many of them are free.
	// +required
	Available int64 `json:"available"`

	// lastAllocated is the address that was given last.
	// +required
	LastAllocated string `json:"lastAllocated"`

	// allocated is who has an address, as namespace/name. Annotation
	// loadbalancer.harvesterhci.io/blocks of the pool says that it is not all.
	// +optional
	// +mapType=atomic
	Allocated map[string]string `json:"allocated,omitempty"`

	// allocatedHistory is who had an address that is free now.
	// +optional
	// +mapType=atomic
	AllocatedHistory map[string]string `json:"allocatedHistory,omitempty"`

	// released is when an address that rests was given back: for a while nobody
	// is given it but who had it.
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

// Condition is one condition as Harvester writes it.
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

	// reason of the status in one word.
	// +optional
	Reason string `json:"reason,omitempty"`

	// message for people.
	// +optional
	Message string `json:"message,omitempty"`
}

// IPPool is addresses that load balancers and machines have theirs from.
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

	// spec is which addresses the pool has, and for whom.
	// +required
	Spec IPPoolSpec `json:"spec"`

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
