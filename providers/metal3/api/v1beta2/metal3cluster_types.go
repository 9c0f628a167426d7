// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	"net"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Metal3ClusterSpec defines the desired state of a Metal3Cluster.
type Metal3ClusterSpec struct {
	// controlPlaneEndpoint is the endpoint of the cluster's API server.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// cloudProviderEnabled is true if a cloud provider sets the provider ID of Nodes. Otherwise this provider sets it. Defaults
	// to false.
	// +optional
	CloudProviderEnabled *bool `json:"cloudProviderEnabled,omitempty"`

	// failureDomains that machines can be placed in. The hosts of a failure domain are the BareMetalHosts in the namespace of the
	// cluster that have its name in their label infrastructure.cluster.x-k8s.io/failure-domain.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// distribution configures how machines are spread over the failure domains, and what each failure domain can be used for.
	// +optional
	Distribution faultlinev1.Distribution `json:"distribution,omitempty,omitzero"`
}

// APIEndpoint is the endpoint of an API server.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host name or address.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port number. Defaults to 6443.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// String returns host:port.
func (e APIEndpoint) String() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// Metal3ClusterStatus defines the observed state of a Metal3Cluster.
type Metal3ClusterStatus struct {
	// conditions of the cluster: Ready, BaremetalInfrastructureReady,
	// FailureDomainsReady and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization reports the progress of the first provisioning.
	// +optional
	Initialization Metal3ClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomains that machines can be placed in, sorted by name. Cluster API copies them to the Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// distribution is the observed state of the failure domains and of the machines in them.
	// +optional
	Distribution faultlinev1.DistributionStatus `json:"distribution,omitempty,omitzero"`

	// lastUpdated is the time at which another version of the provider last wrote the status. It is preserved unchanged.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// Metal3ClusterInitializationStatus reports the progress of the first provisioning.
// +kubebuilder:validation:MinProperties=1
type Metal3ClusterInitializationStatus struct {
	// provisioned is true once machines can be created. It is part of the Cluster API contract and stays true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// Metal3Cluster is the bare-metal infrastructure of a Cluster.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3clusters,scope=Namespaced,categories=cluster-api,shortName=m3c;m3cluster;m3clusters;metal3c;metal3cluster
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.initialization.provisioned",description="Whether the infrastructure of the cluster is provisioned"
// +kubebuilder:printcolumn:name="Error",type="string",JSONPath=".status.deprecated.v1beta1.failureReason",description="Most recent error"
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

// GetConditions returns the conditions of the cluster.
func (c *Metal3Cluster) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the conditions of the cluster.
func (c *Metal3Cluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// Distribution returns pointers to the desired and the observed state of the failure domains.
func (c *Metal3Cluster) Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus) {
	return &c.Spec.Distribution, &c.Status.Distribution
}

// FailureDomains returns a pointer to the failure domains that Cluster API reads.
func (c *Metal3Cluster) FailureDomains() *[]clusterv1.FailureDomain {
	return &c.Status.FailureDomains
}

// Metal3ClusterList is a list of Metal3Clusters.
//
// +kubebuilder:object:root=true
type Metal3ClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Cluster `json:"items"`
}
