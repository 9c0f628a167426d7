// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataSpec defines what is rendered, and for which claim.
type Metal3DataSpec struct {
	// index is the number of this Metal3Data among those of the template. It is used for rendering.
	// +optional
	Index int32 `json:"index"`

	// metaData names the Secret with the rendered metadata. It is set by the
	// controller.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the Secret with the rendered network data. It is set by
	// the controller.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// claim is the Metal3DataClaim that the data is for.
	// +required
	Claim corev1.ObjectReference `json:"claim,omitempty,omitzero"`

	// template is the Metal3DataTemplate that the data is rendered from.
	// +required
	Template corev1.ObjectReference `json:"template,omitempty,omitzero"`
}

// Metal3DataStatus defines the observed state of a Metal3Data.
type Metal3DataStatus struct {
	// ready reports whether the Secrets hold the rendered data.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// errorMessage describes why the data is not ready, and how to fix it.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`

	// conditions of the data.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=32
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// The annotation skips the CRD name check of clusterctl, which expects the plural metal3data. Upstream's plural, metal3datas, is
// part of the wire format.

// Metal3Data holds the rendered metadata and network data of one machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:metadata:annotations="clusterctl.cluster.x-k8s.io/skip-crd-name-preflight-check="
// +kubebuilder:resource:path=metal3datas,scope=Namespaced,categories=cluster-api,shortName=m3d;m3data;m3datas;metal3d;metal3data
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3Data struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is rendered, and for which claim.
	// +optional
	Spec Metal3DataSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the data.
	// +optional
	Status Metal3DataStatus `json:"status,omitempty,omitzero"`
}

// GetConditions returns the conditions of the data.
func (m *Metal3Data) GetConditions() []metav1.Condition {
	return m.Status.Conditions
}

// SetConditions sets the conditions of the data.
func (m *Metal3Data) SetConditions(conditions []metav1.Condition) {
	m.Status.Conditions = conditions
}

// Metal3DataList is a list of Metal3Datas.
//
// +kubebuilder:object:root=true
type Metal3DataList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Data `json:"items"`
}
