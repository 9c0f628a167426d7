// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// SecretIdentitySetFinalizer keeps a Secret while a VSphereCluster or a
	// VSphereClusterIdentity takes credentials from it.
	SecretIdentitySetFinalizer = "vspherecluster/infrastructure.cluster.x-k8s.io"

	// VSphereClusterIdentityFinalizer keeps a VSphereClusterIdentity until its
	// Secret is let go.
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

// VSphereIdentityReference names the object that holds credentials for a
// vCenter.
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

// IsDefined tells whether an object is named.
func (r VSphereIdentityReference) IsDefined() bool {
	return r.Kind != "" || r.Name != ""
}

// VSphereClusterIdentitySpec is a Secret and who may use it.
type VSphereClusterIdentitySpec struct {
	// secretName is the name of a Secret with keys username and password in
	// the namespace of the provider's manager.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	SecretName string `json:"secretName,omitempty"`

	// allowedNamespaces are the namespaces whose clusters may use the
	// credentials. Without it there are none.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty,omitzero"`

	// servers are the vCenters that the credentials are for, each as a host
	// name or address, with a port if it is not 443. They are sent to no other.
	// Without it they are sent to whatever server a cluster that may use them
	// names.
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
	// selector of the namespaces by their labels. An empty one selects all.
	// +optional
	Selector metav1.LabelSelector `json:"selector,omitempty,omitzero"`
}

// VSphereClusterIdentityStatus is whether the credentials can be used.
// +kubebuilder:validation:MinProperties=1
type VSphereClusterIdentityStatus struct {
	// conditions of the identity: Available and Paused.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// ready tells whether the credentials can be used.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// deprecated holds status of older API versions.
	// +optional
	Deprecated *DeprecatedStatus `json:"deprecated,omitempty"`
}

// VSphereClusterIdentity is an account on a vCenter that clusters of certain
// namespaces may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclusteridentities,scope=Cluster,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Secret",type="string",JSONPath=".spec.secretName",description="Secret with the credentials"
// +kubebuilder:printcolumn:name="Ready",type="boolean",JSONPath=".status.ready",description="Whether the credentials can be used"
// +kubebuilder:printcolumn:name="Reason",type="string",JSONPath=".status.conditions[?(@.type==\"Available\")].reason",description="Why they can or cannot be used"
// +kubebuilder:printcolumn:name="Paused",type="string",JSONPath=".status.conditions[?(@.type==\"Paused\")].status",description="Reconciliation paused",priority=10
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereClusterIdentity struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is a Secret and who may use it.
	// +required
	Spec VSphereClusterIdentitySpec `json:"spec,omitempty,omitzero"`

	// status is whether the credentials can be used.
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
