// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// WorkloadType is the kind of backends of a load balancer.
// +kubebuilder:validation:Enum=vm;cluster
type WorkloadType string

const (
	// WorkloadVM is virtual machines that the load balancer selects.
	WorkloadVM WorkloadType = "vm"

	// WorkloadCluster is a Service in a guest cluster.
	WorkloadCluster WorkloadType = "cluster"
)

// IPAM is the source of a load balancer's address.
// +kubebuilder:validation:Enum=pool;dhcp
type IPAM string

const (
	// IPAMPool allocates the address from an IPPool.
	IPAMPool IPAM = "pool"

	// IPAMDHCP requests the address from a DHCP server.
	IPAMDHCP IPAM = "dhcp"
)

// UnspecifiedAddress is a placeholder for an address that a DHCP server
// assigns.
const UnspecifiedAddress = "0.0.0.0"

// LoadBalancerSpec defines the ports and the backends of a load balancer.
type LoadBalancerSpec struct {
	// description of the load balancer.
	// +optional
	Description string `json:"description,omitempty"`

	// workloadType is the kind of backends. Defaults to vm.
	// +optional
	WorkloadType WorkloadType `json:"workloadType,omitempty"`

	// ipam is the source of the address. Defaults to pool.
	// +optional
	IPAM IPAM `json:"ipam,omitempty"`

	// ipPool is the name of the pool. If it is empty, the manager selects
	// one.
	// +optional
	IPPool string `json:"ipPool,omitempty"`

	// listeners are the ports.
	// +optional
	// +listType=atomic
	Listeners []Listener `json:"listeners,omitempty"`

	// backendServerSelector selects virtual machines by labels of their
	// instances. Each label must have one of the values.
	// +optional
	BackendServerSelector map[string][]string `json:"backendServerSelector,omitempty"`

	// healthCheck configures the health check of the machines.
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

// HealthCheck configures the health check of the machines behind a load
// balancer.
type HealthCheck struct {
	// port of the machines to connect to. It must be the backend port of a
	// listener.
	// +optional
	Port uint `json:"port,omitempty"`

	// successThreshold is the number of successes after which a machine is
	// healthy.
	// +optional
	SuccessThreshold uint `json:"successThreshold,omitempty"`

	// failureThreshold is the number of failures after which a machine is
	// unhealthy.
	// +optional
	FailureThreshold uint `json:"failureThreshold,omitempty"`

	// periodSeconds is the interval between two checks.
	// +optional
	PeriodSeconds uint `json:"periodSeconds,omitempty"`

	// timeoutSeconds is the timeout of a check.
	// +optional
	TimeoutSeconds uint `json:"timeoutSeconds,omitempty"`
}

// LoadBalancerStatus is the observed state of a load balancer.
type LoadBalancerStatus struct {
	// backendServers are the IP addresses of the machines.
	// +optional
	// +listType=atomic
	BackendServers []string `json:"backendServers,omitempty"`

	// allocatedAddress is the address as it was allocated: 0.0.0.0 if a DHCP
	// server assigns it.
	// +optional
	AllocatedAddress AllocatedAddress `json:"allocatedAddress,omitempty,omitzero"`

	// address of the load balancer.
	// +optional
	Address string `json:"address,omitempty"`

	// conditions of the load balancer.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// AllocatedAddress is an address and its origin.
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

// LoadBalancer provides an address on Harvester for virtual machines.
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

	// spec defines the ports and the backends of the load balancer.
	// +required
	Spec LoadBalancerSpec `json:"spec"`

	// status is the observed state of the load balancer.
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
