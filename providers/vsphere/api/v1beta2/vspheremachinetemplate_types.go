// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// VSphereMachineTemplateSpec is what VSphereMachines are made from.
type VSphereMachineTemplateSpec struct {
	// template of the VSphereMachines.
	// +required
	Template VSphereMachineTemplateResource `json:"template,omitzero"`
}

// VSphereMachineTemplateResource is metadata and spec of a VSphereMachine to
// be.
// +kubebuilder:validation:MinProperties=1
type VSphereMachineTemplateResource struct {
	// metadata is labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the VSphereMachine.
	// +optional
	Spec VSphereMachineSpec `json:"spec,omitzero"`
}

// VSphereMachineTemplate is what VSphereMachines of a control plane or of a
// MachineDeployment are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspheremachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Cluster\")].name",description="Cluster that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what VSphereMachines are made from.
	// +optional
	Spec VSphereMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// VSphereMachineTemplateList is a list of VSphereMachineTemplates.
//
// +kubebuilder:object:root=true
type VSphereMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereMachineTemplate `json:"items"`
}
