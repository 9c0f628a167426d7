// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// VSphereMachineTemplateSpec defines the desired state of VSphereMachineTemplate.
type VSphereMachineTemplateSpec struct {
	// template of the VSphereMachines.
	// +required
	Template VSphereMachineTemplateResource `json:"template,omitzero"`
}

// VSphereMachineTemplateResource holds the metadata and spec of the VSphereMachines.
// +kubebuilder:validation:MinProperties=1
type VSphereMachineTemplateResource struct {
	// metadata holds the labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the VSphereMachine.
	// +optional
	Spec VSphereMachineSpec `json:"spec,omitzero"`
}

// VSphereMachineTemplate is the template for the VSphereMachines of a control plane or of a MachineDeployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspheremachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"Cluster\")].name",description="Cluster that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
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

// NodeStatus returns a pointer to the status.
func (t *VSphereMachineTemplate) NodeStatus() *faultlinev1.MachineTemplateStatus { return &t.Status }

// VSphereMachineTemplateList is a list of VSphereMachineTemplates.
//
// +kubebuilder:object:root=true
type VSphereMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereMachineTemplate `json:"items"`
}
