// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Metal3ClusterSpec defines the desired state of a Metal3Cluster.
type Metal3ClusterSpec struct {
	// controlPlaneEndpoint is the endpoint of the cluster's API server.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// cloudProviderEnabled is true if a cloud provider sets the provider ID of Nodes. Otherwise this provider sets it.
	// +optional
	CloudProviderEnabled *bool `json:"cloudProviderEnabled,omitempty"`

	// noCloudProvider is the inverse of cloudProviderEnabled, which takes precedence.
	// +optional
	NoCloudProvider *bool `json:"noCloudProvider,omitempty"`

	// failureDomains that machines can be placed in, by name.
	// +optional
	FailureDomains map[string]FailureDomain `json:"failureDomains,omitempty"`
}

// Metal3ClusterStatus defines the observed state of a Metal3Cluster.
type Metal3ClusterStatus struct {
	// lastUpdated is the time at which another version of the provider last wrote the status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// failureReason is a single-word reason of a terminal problem.
	// +optional
	FailureReason *string `json:"failureReason,omitempty"`

	// failureMessage describes a terminal problem.
	// +optional
	FailureMessage *string `json:"failureMessage,omitempty"`

	// ready is true once machines can be created.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// failureDomains that machines can be placed in, by name.
	// +optional
	FailureDomains map[string]FailureDomain `json:"failureDomains,omitempty"`

	// conditions in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // it is what v1beta1 shows

	// v1beta2 holds the status in the format of v1beta2.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// Metal3Cluster is the bare-metal infrastructure of a Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3clusters,scope=Namespaced,categories=cluster-api,shortName=m3c;m3cluster;m3clusters;metal3c;metal3cluster
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether the infrastructure of the cluster is provisioned"
// +kubebuilder:printcolumn:name="Error",type="string",JSONPath=".status.failureReason",description="Most recent error"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint",description="Control plane endpoint"
type Metal3Cluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of the Metal3Cluster.
	// +optional
	Spec Metal3ClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the Metal3Cluster.
	// +optional
	Status Metal3ClusterStatus `json:"status,omitempty,omitzero"`
}

// Metal3ClusterList is a list of Metal3Clusters.
//
// +kubebuilder:object:root=true
type Metal3ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Cluster `json:"items"`
}
