// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// VSphereIdentityReference references the object that holds credentials for a vCenter.
type VSphereIdentityReference struct {
	// kind of the object.
	// +required
	// +kubebuilder:validation:Enum=VSphereClusterIdentity;Secret
	Kind infrav1.VSphereIdentityKind `json:"kind"`

	// name of the object.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name"`
}

// VSphereClusterIdentitySpec defines the desired state of VSphereClusterIdentity.
type VSphereClusterIdentitySpec struct {
	// secretName is the name of a Secret with keys username and password in the namespace of the provider's manager.
	// +optional
	// +kubebuilder:validation:MinLength=1
	SecretName string `json:"secretName,omitempty"`

	// allowedNamespaces are the namespaces whose clusters may use the credentials. If omitted, there are none.
	// +optional
	AllowedNamespaces *AllowedNamespaces `json:"allowedNamespaces,omitempty"`
}

// AllowedNamespaces selects namespaces.
type AllowedNamespaces struct {
	// selector selects the namespaces by their labels. An empty selector selects all namespaces.
	// +optional
	Selector metav1.LabelSelector `json:"selector"`
}

// VSphereClusterIdentityStatus defines the observed state of VSphereClusterIdentity.
type VSphereClusterIdentityStatus struct {
	// ready is true if the credentials can be used.
	// +optional
	Ready *bool `json:"ready,omitempty"`

	// conditions of the identity, in the format of v1beta1.
	// +optional
	Conditions clusterv1.Conditions `json:"conditions,omitempty"` //nolint:staticcheck // v1beta2 has them as deprecated

	// v1beta2 holds the status fields that v1beta2 has.
	// +optional
	V1Beta2 *V1Beta2Status `json:"v1beta2,omitempty"`
}

// VSphereClusterIdentity is a vCenter account that clusters of selected namespaces may use.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclusteridentities,scope=Cluster,categories=cluster-api
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
type VSphereClusterIdentity struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereClusterIdentity.
	// +optional
	Spec VSphereClusterIdentitySpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of VSphereClusterIdentity.
	// +optional
	Status VSphereClusterIdentityStatus `json:"status,omitempty,omitzero"`
}

// VSphereClusterIdentityList is a list of VSphereClusterIdentities.
//
// +kubebuilder:object:root=true
type VSphereClusterIdentityList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereClusterIdentity `json:"items"`
}
