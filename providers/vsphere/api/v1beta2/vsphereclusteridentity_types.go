// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// SecretIdentitySetFinalizer protects a Secret while a VSphereCluster or a VSphereClusterIdentity uses its credentials.
	SecretIdentitySetFinalizer = "vspherecluster/infrastructure.cluster.x-k8s.io"

	// VSphereClusterIdentityFinalizer protects a VSphereClusterIdentity until its Secret is released.
	VSphereClusterIdentityFinalizer = "vsphereclusteridentity/infrastructure.cluster.x-k8s.io"
)

// VSphereIdentityKind is the kind of object that holds credentials.
type VSphereIdentityKind string

const (
	// VSphereClusterIdentityKind is a VSphereClusterIdentity.
	VSphereClusterIdentityKind VSphereIdentityKind = "VSphereClusterIdentity"

	// SecretKind is a Secret in the namespace of the VSphereCluster.
	SecretKind VSphereIdentityKind = "Secret"
)

// VSphereIdentityReference references the object that holds credentials for a vCenter.
type VSphereIdentityReference struct {
	// kind of the object.
	// +required
	// +kubebuilder:validation:Enum=VSphereClusterIdentity;Secret
	Kind VSphereIdentityKind `json:"kind,omitempty"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name,omitempty"`
}

// IsDefined reports whether the reference is set.
func (r VSphereIdentityReference) IsDefined() bool {
	return r.Kind != "" || r.Name != ""
}

// VSphereClusterIdentitySpec defines the desired state of VSphereClusterIdentity.
type VSphereClusterIdentitySpec struct {
	// secretName is the name of a Secret with keys username and password in the namespace of the provider's manager.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// allowedNamespaces are the namespaces whose clusters may use the credentials. If omitted, there are none.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty,omitzero"`

	// servers are the vCenters for which the credentials are valid, each as a host name or address, with a port if it is not
	// 443. The credentials are sent to no other server. If omitted, they are sent to any server named by a cluster that may use
	// them.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MinItems=1
	// +kubebuilder:validation:MaxItems=64
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=320
	Servers []string `json:"servers,omitempty"`
}

// AllowedNamespaces selects namespaces.
type AllowedNamespaces struct {
	// selector selects the namespaces by their labels. An empty selector selects all namespaces.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero"`
}

// VSphereClusterIdentityStatus defines the observed state of VSphereClusterIdentity.
// +kubebuilder:validation:MinProperties=1
type VSphereClusterIdentityStatus struct {
	// conditions of the identity: Available and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ready is true if the credentials can be used.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// deprecated holds the status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// VSphereClusterIdentity is a vCenter account that clusters of selected namespaces may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclusteridentities,scope=Cluster,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Secret",type="string",JSONPath=".spec.secretName",description="Secret with the credentials"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Credentials can be used"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].reason",description="Reason of the Available condition"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereClusterIdentity struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereClusterIdentity.
	// +required
	Spec VSphereClusterIdentitySpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereClusterIdentity.
	// +optional
	Status VSphereClusterIdentityStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the identity.
func (i *VSphereClusterIdentity) GetConditions() []metav1.Condition {
	return i.Status.Conditions
}

// SetConditions replaces the conditions of the identity.
func (i *VSphereClusterIdentity) SetConditions(conditions []metav1.Condition) {
	i.Status.Conditions = conditions
}

// VSphereClusterIdentityList is a list of VSphereClusterIdentities.
//
// +kubebuilder:object:root=true
type VSphereClusterIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereClusterIdentity `json:"items"`
}
