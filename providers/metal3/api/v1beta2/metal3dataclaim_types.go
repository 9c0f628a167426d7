// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataClaimSpec defines the template that data is requested from.
type Metal3DataClaimSpec struct {
	// template is the Metal3DataTemplate, in the namespace of the claim.
	// +required
	Template corev1.ObjectReference `json:"template,omitempty,omitzero"`
}

// Metal3DataClaimStatus defines the observed state of a Metal3DataClaim.
type Metal3DataClaimStatus struct {
	// renderedData is the Metal3Data that was created for the claim.
	// +optional
	RenderedData *corev1.ObjectReference `json:"renderedData,omitempty"`

	// errorMessage describes why no Metal3Data was created, and how to fix it.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`
}

// Metal3DataClaim requests a Metal3Data from a Metal3DataTemplate.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3dataclaims,scope=Namespaced,categories=cluster-api,shortName=m3dc;m3dataclaim;m3dataclaims;metal3dc;metal3dataclaim
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3DataClaim struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the template that data is requested from.
	// +optional
	Spec Metal3DataClaimSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the claim.
	// +optional
	Status Metal3DataClaimStatus `json:"status,omitempty,omitzero"`
}

// Metal3DataClaimList is a list of Metal3DataClaims.
//
// +kubebuilder:object:root=true
type Metal3DataClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3DataClaim `json:"items"`
}
