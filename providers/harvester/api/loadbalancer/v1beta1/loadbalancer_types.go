// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadType is what a load balancer leads to.
// +kubebuilder:validation:Enum=vm;cluster
type WorkloadType string

const (
	// WorkloadVM is virtual machines, which the load balancer selects.
	WorkloadVM WorkloadType = "vm"

	// WorkloadCluster is a Service in a guest cluster.
	WorkloadCluster WorkloadType = "cluster"
)

// IPAM is where the address of a load balancer comes from.
// +kubebuilder:validation:Enum=pool;dhcp
type IPAM string

const (
	// IPAMPool is an IPPool.
	IPAMPool IPAM = "pool"

	// IPAMDHCP is a DHCP server.
	IPAMDHCP IPAM = "dhcp"
)

// UnspecifiedAddress stands for an address that is to come from a DHCP server.
const UnspecifiedAddress = "0.0.0.0"

// LoadBalancerSpec is the ports of a load balancer and what they lead to.
type LoadBalancerSpec struct {
	// description of the load balancer.
	// +optional
	Description string `json:"description,omitempty"`

	// workloadType is what the load balancer leads to. Defaults to vm.
	// +optional
	WorkloadType WorkloadType `json:"workloadType,omitempty"`

	// ipam is where the address comes from. Defaults to pool.
	// +optional
	IPAM IPAM `json:"ipam,omitempty"`

	// ipPool is the name of the pool. Without it one is selected.
	// +optional
	IPPool string `json:"ipPool,omitempty"`

	// listeners are the ports.
	// +optional
	// +listType=atomic
	Listeners []Listener `json:"listeners,omitempty"`

	// backendServerSelector selects virtual machines by labels of their
	// instances: each label has one of the values.
	// +optional
	BackendServerSelector map[string][]string `json:"backendServerSelector,omitempty"`

	// healthCheck is how it is found out which machines answer.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	// name of the listener.
	// +optional
	Name string `json:"name,omitempty"`

	// port of the load balancer.
	// +required
	Port int32 `json:"port"`

	// protocol is TCP, UDP or SCTP.
	// +required
	Protocol corev1.Protocol `json:"protocol"`

	// backendPort is the port of the machines.
	// +required
	BackendPort int32 `json:"backendPort"`
}

// HealthCheck is how it is found out which machines answer.
type HealthCheck struct {
	// port of the machines that is connected to: the backend port of a listener.
	// +optional
	Port uint `json:"port,omitempty"`

	// successThreshold is after how many successes a machine is healthy.
	// +optional
	SuccessThreshold uint `json:"successThreshold,omitempty"`

	// failureThreshold is after how many failures it is not.
	// +optional
	FailureThreshold uint `json:"failureThreshold,omitempty"`

	// periodSeconds is the time between two checks.
	// +optional
	PeriodSeconds uint `json:"periodSeconds,omitempty"`

	// timeoutSeconds is how long a check waits.
	// +optional
	TimeoutSeconds uint `json:"timeoutSeconds,omitempty"`
}

// LoadBalancerStatus is what Harvester has made.
type LoadBalancerStatus struct {
	// backendServers are the addresses of the machines.
	// +optional
	// +listType=atomic
	BackendServers []string `json:"backendServers,omitempty"`

	// allocatedAddress is the address as it was allocated: 0.0.0.0 for one from
	// a DHCP server.
	// +optional
	AllocatedAddress AllocatedAddress `json:"allocatedAddress,omitempty,omitzero"`

	// address that the load balancer is reached at.
	// +optional
	Address string `json:"address,omitempty"`

	// conditions of the load balancer.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// AllocatedAddress is an address and where it is from.
type AllocatedAddress struct {
	// ipPool is the name of the pool.
	// +optional
	IPPool string `json:"ipPool,omitempty"`

	// ip is the address.
	// +optional
	IP string `json:"ip,omitempty"`

	// mask of its subnet.
	// +optional
	Mask string `json:"mask,omitempty"`

	// gateway of its subnet.
	// +optional
	Gateway string `json:"gateway,omitempty"`
}

// LoadBalancer is an address of Harvester that leads to virtual machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loadbalancers,scope=Namespaced,shortName=lb;lbs
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="DESCRIPTION",type="string",JSONPath=".spec.description"
// +kubebuilder:printcolumn:name="WORKLOADTYPE",type="string",JSONPath=".spec.workloadType"
// +kubebuilder:printcolumn:name="IPAM",type="string",JSONPath=".spec.ipam"
// +kubebuilder:printcolumn:name="ADDRESS",type="string",JSONPath=".status.address"
// +kubebuilder:printcolumn:name="AGE",type="date",JSONPath=".metadata.creationTimestamp"
type LoadBalancer struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the ports of the load balancer and what they lead to.
	// +required
	Spec LoadBalancerSpec `json:"spec"`

	// status is what Harvester has made.
	// +optional
	Status LoadBalancerStatus `json:"status,omitempty,omitzero"`
}

// LoadBalancerList is a list of LoadBalancers.
//
// +kubebuilder:object:root=true
type LoadBalancerList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []LoadBalancer `json:"items"`
}
