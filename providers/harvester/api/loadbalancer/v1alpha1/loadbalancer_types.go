// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// LoadBalancerSpec defines the ports and the backends of a load balancer.
type LoadBalancerSpec struct {
	// description of the load balancer.
	// +optional
	Description string `json:"description,omitempty"`

	// ipam is the source of the address.
	// +required
	IPAM lbv1.IPAM `json:"ipam"`

	// listeners are the ports.
	// +optional
	// +listType=atomic
	Listeners []Listener `json:"listeners,omitempty"`

	// backendServers are the IP addresses of the machines.
	// +optional
	// +listType=atomic
	BackendServers []string `json:"backendServers,omitempty"`

	// healthCheck configures the health check of the machines.
	// +optional
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
}

// Listener is a port of a load balancer.
type Listener struct {
	// name of the listener.
	// +required
	Name string `json:"name"`

	// port of the load balancer.
	// +required
	Port int32 `json:"port"`

	// protocol is TCP, UDP or SCTP.
	// +required
	Protocol corev1.Protocol `json:"protocol"`

	// backendPort is the port of the machines.
	// +optional
	BackendPort int32 `json:"backendPort,omitempty"`
}

// HealthCheck configures the health check of the machines behind a load
// balancer.
type HealthCheck struct {
	// port of the machines to connect to. It must be the backend port of a
	// listener.
	// +required
	Port uint `json:"port"`

	// successThreshold is the number of successes after which a machine is
	// healthy.
	// +required
	SuccessThreshold uint `json:"successThreshold"`

	// failureThreshold is the number of failures after which a machine is
	// unhealthy.
	// +required
	FailureThreshold uint `json:"failureThreshold"`

	// PeriodSeconds is the interval between two checks. Its JSON name begins
	// with a capital letter.
	// +required
	PeriodSeconds uint `json:"PeriodSeconds"`

	// timeoutSeconds is the timeout of a check.
	// +required
	TimeoutSeconds uint `json:"timeoutSeconds"`
}

// LoadBalancerStatus is the observed state of a load balancer.
type LoadBalancerStatus struct {
	// address of the load balancer.
	// +optional
	Address string `json:"address,omitempty"`

	// conditions of the load balancer.
	// +optional
	// +listType=atomic
	Conditions []lbv1.Condition `json:"conditions,omitempty"`
}

// LoadBalancer provides an address on Harvester for virtual machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=loadbalancers,scope=Namespaced,shortName=lb;lbs
// +kubebuilder:deprecatedversion
// +kubebuilder:printcolumn:name="DESCRIPTION",type="string",JSONPath=".spec.description"
// +kubebuilder:printcolumn:name="IPAM",type="string",JSONPath=".spec.ipam"
// +kubebuilder:printcolumn:name="ADDRESS",type="string",JSONPath=".status.address"
type LoadBalancer struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the ports and the backends of the load balancer.
	// +optional
	Spec LoadBalancerSpec `json:"spec,omitempty,omitzero"`

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
