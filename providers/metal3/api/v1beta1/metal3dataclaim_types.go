// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataClaimSpec is the template that data is wanted from.
type Metal3DataClaimSpec struct {
	// template is the Metal3DataTemplate, in the namespace of the claim.
	// +required
	Template corev1.ObjectReference `json:"template"`
}

// Metal3DataClaimStatus is the data that was made.
type Metal3DataClaimStatus struct {
	// renderedData is the Metal3Data that was made for the claim.
	// +optional
	RenderedData *corev1.ObjectReference `json:"renderedData,omitempty"`

	// errorMessage says why there is none, and what to do.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`
}

// Metal3DataClaim asks for a Metal3Data of a Metal3DataTemplate.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3dataclaims,scope=Namespaced,categories=cluster-api,shortName=m3dc;m3dataclaim;m3dataclaims;metal3dc;metal3dataclaim
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3DataClaim struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the template that data is wanted from.
	// +optional
	Spec Metal3DataClaimSpec `json:"spec,omitempty,omitzero"`

	// status is the data that was made.
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
