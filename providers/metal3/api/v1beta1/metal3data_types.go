// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataSpec defines what is rendered, and for which claim.
type Metal3DataSpec struct {
	// index is the number of this Metal3Data among those of the template. It is used for rendering.
	// +optional
	Index int32 `json:"index,omitempty"`

	// templateReference names a set of templates that share indexes. It is preserved but has no effect.
	// +optional
	TemplateReference string `json:"templateReference,omitempty"`

	// metaData names the Secret with the rendered metadata.
	// +optional
	MetaData *corev1.SecretReference `json:"metaData,omitempty"`

	// networkData names the Secret with the rendered network data.
	// +optional
	NetworkData *corev1.SecretReference `json:"networkData,omitempty"`

	// claim is the Metal3DataClaim that the data is for.
	// +required
	Claim corev1.ObjectReference `json:"claim"`

	// template is the Metal3DataTemplate that the data is rendered from.
	// +required
	Template corev1.ObjectReference `json:"template"`
}

// Metal3DataStatus defines the observed state of a Metal3Data.
type Metal3DataStatus struct {
	// ready reports whether the Secrets hold the rendered data.
	// +optional
	Ready bool `json:"ready,omitempty"`

	// errorMessage describes why the data is not ready, and how to fix it.
	// +optional
	ErrorMessage *string `json:"errorMessage,omitempty"`
}

// Metal3Data holds the rendered metadata and network data of one machine.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3datas,scope=Namespaced,categories=cluster-api,shortName=m3d;m3data;m3datas;metal3d;metal3data
// +kubebuilder:deprecatedversion
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

// Metal3DataList is a list of Metal3Datas.
//
// +kubebuilder:object:root=true
type Metal3DataList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3Data `json:"items"`
}
