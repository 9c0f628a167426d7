// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// HarvesterClusterSpec is which Harvester a cluster is on and how its API server
// is reached.
type HarvesterClusterSpec struct {
	// server is the URL of Harvester's API server. It is set by the controller,
	// from the kubeconfig.
	// +optional
	Server string `json:"server,omitempty"`

	// identitySecret names the Secret with the kubeconfig of Harvester, in its
	// key kubeconfig.
	// +required
	IdentitySecret infrav1.SecretKey `json:"identitySecret,omitempty,omitzero"`

	// loadBalancerConfig is the load balancer that Harvester makes for the
	// control-plane endpoint. Without it controlPlaneEndpoint is given, by the
	// user or for kube-vip in the guests.
	// +optional
	LoadBalancerConfig infrav1.LoadBalancerConfig `json:"loadBalancerConfig,omitempty,omitzero"`

	// controlPlaneEndpoint is where the cluster's API server is reached. It is
	// set from the load balancer when there is one, and does not change then.
	// +optional
	ControlPlaneEndpoint infrav1.APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// targetNamespace is the namespace on Harvester that virtual machines, their
	// volumes and the load balancer are made in.
	// +required
	TargetNamespace string `json:"targetNamespace"`

	// updateCloudProviderConfig names the manifests of Harvester's cloud
	// provider into which a kubeconfig is written that is made for it.
	// +optional
	UpdateCloudProviderConfig infrav1.UpdateCloudProviderConfig `json:"updateCloudProviderConfig,omitempty,omitzero"`

	// vmNetworkConfig gives machines addresses from pools. Without it they use
	// DHCP.
	// +optional
	VMNetworkConfig *infrav1.VMNetworkConfig `json:"vmNetworkConfig,omitempty"`
}

// HarvesterClusterStatus is what was found of the cluster's infrastructure.
type HarvesterClusterStatus struct {
	// ready is true once machines may be created. It is the same as
	// initialization.provisioned, for those who read it from older versions.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// conditions of the cluster.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization is how far the first provisioning is.
	// +optional
	Initialization infrav1.Initialization `json:"initialization,omitempty,omitzero"`

	// failureDomains that machines may be put in, sorted by name. Cluster API
	// copies them to the Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// failureReason named a terminal problem in one word. No controller writes it.
	// +optional
	FailureReason string `json:"failureReason,omitempty"`

	// failureMessage described a terminal problem. No controller writes it.
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

	// spec is which Harvester the cluster is on and how its API server is
	// reached.
	// +required
	Spec HarvesterClusterSpec `json:"spec,omitempty,omitzero"`

	// status is what was found of the cluster's infrastructure.
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
