// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// HarvesterClusterSpec defines the Harvester that a cluster runs on and how
// its API server is reached.
type HarvesterClusterSpec struct {
	// server is the URL of Harvester's API server. The controller sets it
	// from the kubeconfig.
	// +optional
	Server string `json:"server,omitempty"`

	// identitySecret names the Secret whose key kubeconfig holds the
	// kubeconfig of Harvester.
	// +required
	IdentitySecret infrav1.SecretKey `json:"identitySecret,omitempty,omitzero"`

	// loadBalancerConfig configures the load balancer that Harvester creates
	// for the control-plane endpoint. If it is not set, controlPlaneEndpoint
	// must be set by the user, for example for kube-vip in the guests.
	// +optional
	LoadBalancerConfig infrav1.LoadBalancerConfig `json:"loadBalancerConfig,omitempty,omitzero"`

	// controlPlaneEndpoint is the endpoint of the cluster's API server. If
	// the cluster has a load balancer, the controller sets it from the load
	// balancer and it does not change afterwards.
	// +optional
	ControlPlaneEndpoint infrav1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// targetNamespace is the namespace on Harvester in which virtual
	// machines, their volumes and the load balancer are created.
	// +required
	TargetNamespace string `json:"targetNamespace"`

	// updateCloudProviderConfig names the manifests of Harvester's cloud
	// provider. The controller creates a kubeconfig for the cloud provider
	// and writes it to them.
	// +optional
	UpdateCloudProviderConfig infrav1.UpdateCloudProviderConfig `json:"updateCloudProviderConfig,omitempty,omitzero"`

	// vmNetworkConfig assigns addresses from IPPools to machines. Machines
	// use DHCP if it is not set.
	// +optional
	VMNetworkConfig *infrav1.VMNetworkConfig `json:"vmNetworkConfig,omitempty"`
}

// HarvesterClusterStatus is the observed state of a HarvesterCluster.
type HarvesterClusterStatus struct {
	// ready is true once Machines can be created. It equals
	// initialization.provisioned and exists for clients of older versions.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// conditions of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports the progress of the initial provisioning.
	// +optional
	Initialization infrav1.Initialization `json:"initialization,omitempty,omitzero"`

	// failureDomains that machines may be placed in, sorted by name. Cluster
	// API copies them to the Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// failureReason is the reason of a terminal problem in one word. No
	// controller writes it.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem. No controller writes it.
	// +optional
	FailureMessage string `json:"failureMessage,omitempty"`
}

// HarvesterCluster is the infrastructure of a Cluster on Harvester.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvesterclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1alpha1 HarvesterCluster is deprecated: use infrastructure.cluster.x-k8s.io/v1beta1"
// +kubebuilder:subresource:status
type HarvesterCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the Harvester that the cluster runs on and how its API
	// server is reached.
	// +required
	Spec HarvesterClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the cluster's infrastructure.
	// +optional
	Status HarvesterClusterStatus `json:"status,omitempty,omitzero"`
}

// HarvesterClusterList is a list of HarvesterClusters.
//
// +kubebuilder:object:root=true
type HarvesterClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterCluster `json:"items"`
}
