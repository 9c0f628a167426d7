// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// KeyPairSpec defines an SSH key.
type KeyPairSpec struct {
	// publicKey in the format of authorized_keys.
	// +required
	PublicKey string `json:"publicKey"`

	// description of the key.
	// +optional
	Description string `json:"description,omitempty"`
}

// KeyPairStatus is the observed state of a key.
type KeyPairStatus struct {
	// fingerPrint of the key.
	// +optional
	FingerPrint string `json:"fingerPrint,omitempty"`

	// conditions of the key.
	// +optional
	// +listType=atomic
	Conditions []Condition `json:"conditions,omitempty"`
}

// KeyPair is an SSH key that is authorized to log in to virtual machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=keypairs,scope=Namespaced,shortName=kp;kps
// +kubebuilder:storageversion
// +kubebuilder:pruning:PreserveUnknownFields
type KeyPair struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the key.
	// +required
	Spec KeyPairSpec `json:"spec"`

	// status is the observed state of the key.
	// +optional
	Status KeyPairStatus `json:"status,omitempty,omitzero"`
}

// KeyPairList is a list of KeyPairs.
//
// +kubebuilder:object:root=true
type KeyPairList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []KeyPair `json:"items"`
}
