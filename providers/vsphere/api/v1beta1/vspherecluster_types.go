// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// VSphereClusterSpec defines the desired state of VSphereCluster.
type VSphereClusterSpec struct {
	// server is the host, or host:port, of the vCenter.
	// +optional
	Server string `json:"server,omitempty"`

	// thumbprint is the SHA-1 or SHA-256 fingerprint of the vCenter's certificate, as hexadecimal pairs separated by colons.
	// +optional
	Thumbprint string `json:"thumbprint,omitempty"`

	// controlPlaneEndpoint is the endpoint of the cluster's API server.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint"`

	// identityRef references the credentials for the vCenter. Defaults to the credentials of the manager.
	// +optional
	IdentityRef *VSphereIdentityReference `json:"identityRef,omitempty"`

	// clusterModules are vCenter cluster modules that keep machines on different hosts.
	// +optional
	ClusterModules []ClusterModule `json:"clusterModules,omitempty"`

	// disableClusterModule disables cluster modules.
	// +optional
	DisableClusterModule *bool `json:"disableClusterModule,omitempty"`

	// failureDomainSelector selects the VSphereDeploymentZones in which machines may be placed, by their labels. An empty
	// selector selects all of them. If omitted, the cluster has no failure domains.
	// +optional
	FailureDomainSelector *metav1.LabelSelector `json:"failureDomainSelector,omitempty"`
}

// APIEndpoint is the endpoint of an API server.
type APIEndpoint struct {
	// host name or address.
	// +optional
	Host string `json:"host"`

	// port number.
	// +optional
	Port int32 `json:"port"`
}

// ClusterModule is a vCenter cluster module and the owner of its machines.
type ClusterModule struct {
	// controlPlane is true if the machines are control-plane machines.
	// +required
	ControlPlane bool `json:"controlPlane"`

	// targetObjectName is the name of the object that owns the machines.
	// +required
	TargetObjectName string `json:"targetObjectName"`

	// moduleUUID identifies the module in vCenter.
	// +required
	ModuleUUID string `json:"moduleUUID"`
}

// VSphereClusterStatus defines the observed state of VSphereCluster.
type VSphereClusterStatus struct {
	// ready is true once machines may be created.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// conditions of the cluster, in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // v1beta2 has them as deprecated

	// failureDomains in which machines may be placed, by name.
	// +optional
	FailureDomains map[string]FailureDomainStatus `json:"failureDomains,omitempty"`

	// vCenterVersion is the version of the vCenter at spec.server.
	// +optional
	VCenterVersion string `json:"vCenterVersion,omitempty"`

	// v1beta2 holds the status fields that v1beta2 has.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// FailureDomainStatus is a failure domain in which machines may be placed.
type FailureDomainStatus struct {
	// controlPlane is true if control-plane machines may be placed in the failure domain.
	// +optional
	ControlPlane bool `json:"controlPlane,omitempty"`

	// attributes of the failure domain.
	// +optional
	Attributes map[string]string `json:"attributes,omitempty"`
}

// VSphereCluster is the infrastructure of a Cluster on vSphere.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Ready",type="string",JSONPath=".status.ready",description="Whether machines may be created"
// +kubebuilder:printcolumn:name="Server",type="string",JSONPath=".spec.server",description="vCenter of the cluster"
// +kubebuilder:printcolumn:name="ControlPlaneEndpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="Where the API server is reached",priority=1
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereCluster.
	// +optional
	Spec VSphereClusterSpec `json:"spec,omitempty"`

	// status is the observed state of VSphereCluster.
	// +optional
	Status VSphereClusterStatus `json:"status,omitempty,omitzero"`
}

// VSphereClusterList is a list of VSphereClusters.
//
// +kubebuilder:object:root=true
type VSphereClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereCluster `json:"items"`
}
