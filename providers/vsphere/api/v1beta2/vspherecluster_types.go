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

// ClusterFinalizer protects a VSphereCluster until its resources are cleaned up.
const ClusterFinalizer = "vspherecluster.infrastructure.cluster.x-k8s.io"

// VSphereClusterSpec defines the desired state of VSphereCluster.
type VSphereClusterSpec struct {
	// server is the host, or host:port, of the vCenter.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`

	// additionalServers are other vCenters, as host or host:port, whose VSphereDeploymentZones are failure domains of the cluster
	// too, if failureDomainSelector selects them. A zone on them is used with its identityRef if that allows the cluster's
	// namespace, otherwise with the cluster's identityRef.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=32
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	AdditionalServers []string `json:"additionalServers,omitempty"`

	// thumbprint is the SHA-1 or SHA-256 fingerprint of the vCenter's certificate, as hexadecimal pairs separated by colons. If
	// omitted, the certificate must be signed by an authority that the manager's system trusts.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Thumbprint string `json:"thumbprint,omitempty"`

	// controlPlaneEndpoint is the endpoint of the cluster's API server.
	// +optional
	ControlPlaneEndpoint APIEndpoint `json:"controlPlaneEndpoint,omitempty,omitzero"`

	// identityRef references the credentials for the vCenter. Defaults to the credentials of the manager.
	// +optional
	IdentityRef VSphereIdentityReference `json:"identityRef,omitempty,omitzero"`

	// clusterModules are vCenter cluster modules that keep the machines of one owner on different hosts. The controller sets
	// them, one for each owner and compute cluster, if the feature gate NodeAntiAffinity is enabled.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	ClusterModules []ClusterModule `json:"clusterModules,omitempty"`

	// disableClusterModule disables cluster modules and deletes existing ones.
	// +optional
	DisableClusterModule *bool `json:"disableClusterModule,omitempty"`

	// failureDomainSelector selects the VSphereDeploymentZones in which machines may be placed, by their labels. Only zones on
	// the same server or on additionalServers count. An empty selector selects all of them. If omitted, the cluster has no failure domains.
	// +optional
	FailureDomainSelector *metav1.LabelSelector `json:"failureDomainSelector,omitempty"`

	// distribution defines how machines are spread across the failure domains, and what each failure domain may be used for.
	// +optional
	Distribution faultlinev1.Distribution `json:"distribution,omitempty,omitzero"`
}

// Servers returns the cluster's vCenters, spec.server first, each once.
func (s *VSphereClusterSpec) Servers() []string {
	servers := []string{s.Server}
	for _, server := range s.AdditionalServers {
		if !HasServer(servers, server) {
			servers = append(servers, server)
		}
	}
	return servers
}

// APIEndpoint is the endpoint of an API server.
// +kubebuilder:validation:MinProperties=1
type APIEndpoint struct {
	// host name or address.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=512
	Host string `json:"host,omitempty"`

	// port number.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=65535
	Port int32 `json:"port,omitempty"`
}

// String returns host:port.
func (e APIEndpoint) String() string {
	return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port)))
}

// ClusterModule is a vCenter cluster module and the owner of its machines.
type ClusterModule struct {
	// controlPlane is true if the machines are control-plane machines.
	// +required
	ControlPlane *bool `json:"controlPlane,omitempty"`

	// targetObjectName is the name of the object that owns the machines.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	TargetObjectName string `json:"targetObjectName,omitempty"`

	// moduleUUID identifies the module in vCenter.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	ModuleUUID string `json:"moduleUUID,omitempty"`

	// server is the vCenter of the module, if it is one of additionalServers.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`
}

// VSphereClusterStatus defines the observed state of VSphereCluster.
// +kubebuilder:validation:MinProperties=1
type VSphereClusterStatus struct {
	// conditions of the cluster: Ready, FailureDomainsReady, VCenterAvailable,
	// ClusterModulesReady and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// initialization holds the state of the initial provisioning.
	// +optional
	Initialization VSphereClusterInitializationStatus `json:"initialization,omitempty,omitzero"`

	// failureDomains in which machines may be placed, sorted by name. Cluster API copies them to the Cluster.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=100
	FailureDomains []clusterv1.FailureDomain `json:"failureDomains,omitempty"`

	// distribution is the observed state of the failure domains and of the machines in them.
	// +optional
	Distribution faultlinev1.DistributionStatus `json:"distribution,omitempty,omitzero"`

	// vCenterVersion is the version of the vCenter at spec.server.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	VCenterVersion string `json:"vCenterVersion,omitempty"`

	// servers are the vCenters of a cluster with additionalServers, including spec.server.
	// +optional
	// +listType=map
	// +listMapKey=server
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=33
	Servers []VSphereClusterServerStatus `json:"servers,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// VSphereClusterServerStatus is the observed state of one of a cluster's vCenters.
type VSphereClusterServerStatus struct {
	// server is the vCenter, as in spec.server or spec.additionalServers.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Server string `json:"server,omitempty"`

	// instanceUUID identifies the vCenter under all its names.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=256
	InstanceUUID string `json:"instanceUUID,omitempty"`

	// conditions of the vCenter: VCenterAvailable and ClusterModulesReady.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=8
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// VSphereClusterInitializationStatus holds the state of the initial provisioning.
// +kubebuilder:validation:MinProperties=1
type VSphereClusterInitializationStatus struct {
	// provisioned is true once machines may be created. It is part of the Cluster API contract and stays true.
	// +optional
	Provisioned *bool `json:"provisioned,omitempty"`
}

// VSphereCluster is the infrastructure of a Cluster on vSphere.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclusters,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels['cluster\\.x-k8s\\.io/cluster-name']",description="Cluster"
// +kubebuilder:printcolumn:name="Server",type="string",JSONPath=".spec.server",description="vCenter of the cluster"
// +kubebuilder:printcolumn:name="ControlPlane Endpoint",type="string",JSONPath=".spec.controlPlaneEndpoint.host",description="API endpoint"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Provisioned",type="string",JSONPath=".status.initialization.provisioned",description="Cluster infrastructure is provisioned"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereCluster struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereCluster.
	// +required
	Spec VSphereClusterSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereCluster.
	// +optional
	Status VSphereClusterStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the cluster.
func (c *VSphereCluster) GetConditions() []metav1.Condition {
	return c.Status.Conditions
}

// SetConditions replaces the conditions of the cluster.
func (c *VSphereCluster) SetConditions(conditions []metav1.Condition) {
	c.Status.Conditions = conditions
}

// Distribution returns pointers to the desired and the observed state of the failure domains.
func (c *VSphereCluster) Distribution() (*faultlinev1.Distribution, *faultlinev1.DistributionStatus) {
	return &c.Spec.Distribution, &c.Status.Distribution
}

// FailureDomains returns a pointer to the failure domains in the Cluster API contract.
func (c *VSphereCluster) FailureDomains() *[]clusterv1.FailureDomain {
	return &c.Status.FailureDomains
}

// VSphereClusterList is a list of VSphereClusters.
//
// +kubebuilder:object:root=true
type VSphereClusterList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereCluster `json:"items"`
}
