// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// VSphereMachineTemplateSpec defines the desired state of VSphereMachineTemplate.
type VSphereMachineTemplateSpec struct {
	// template of the VSphereMachines.
	// +required
	Template VSphereMachineTemplateResource `json:"template"`
}

// VSphereMachineTemplateResource holds the metadata and spec of the VSphereMachines.
type VSphereMachineTemplateResource struct {
	// metadata holds the labels and annotations to set.
	// +optional
	ObjectMeta ObjectMeta `json:"metadata,omitempty"`

	// spec of the VSphereMachine.
	// +required
	Spec VSphereMachineSpec `json:"spec"`
}

// ObjectMeta holds the metadata of objects created from a template.
type ObjectMeta struct {
	// labels to set.
	// +optional
	Labels map[string]string `json:"labels,omitempty"`

	// annotations to set.
	// +optional
	Annotations map[string]string `json:"annotations,omitempty"`
}

// VSphereMachineTemplate is the template for VSphereMachines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspheremachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion
type VSphereMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereMachineTemplate.
	// +optional
	Spec VSphereMachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status describes the Nodes of the machines, for the cluster autoscaler.
	// +optional
	Status faultlinev1.MachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// VSphereMachineTemplateList is a list of VSphereMachineTemplates.
//
// +kubebuilder:object:root=true
type VSphereMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereMachineTemplate `json:"items"`
}
