// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// IPClaimSpec defines the pool that an address is requested from.
type IPClaimSpec struct {
	// pool is the IPPool, in the namespace of the claim.
	// +required
	Pool corev1.ObjectReference `json:"pool"`
}

// IPClaimStatus defines the observed state of an IPClaim.
type IPClaimStatus struct {
	// address is the IPAddress allocated to the claim.
	// +optional
	Address *corev1.ObjectReference `json:"address,omitempty"`

	// errorMessage describes why no address has been allocated.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`
}

// IPClaim requests an address from an IPPool.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=ipclaims,scope=Namespaced,categories=cluster-api,shortName=ipc;ipclaim;m3ipc;m3ipclaim;m3ipclaims;metal3ipc;metal3ipclaim;metal3ipclaims
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type IPClaim struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the pool that an address is requested from.
	// +optional
	Spec IPClaimSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the claim.
	// +optional
	Status IPClaimStatus `json:"status,omitempty,omitzero"`
}

// IPClaimList is a list of IPClaims.
//
// +kubebuilder:object:root=true
type IPClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []IPClaim `json:"items"`
}
