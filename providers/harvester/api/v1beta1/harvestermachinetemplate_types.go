// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// MachineTemplateGroupKind is the value of the annotation
// cluster.x-k8s.io/cloned-from-groupkind of a HarvesterMachine that was
// created from a HarvesterMachineTemplate.
const MachineTemplateGroupKind = "HarvesterMachineTemplate.infrastructure.cluster.x-k8s.io"

// HarvesterMachineTemplateSpec defines the HarvesterMachines created from a
// template.
type HarvesterMachineTemplateSpec struct {
	// template of the HarvesterMachines.
	// +optional
	Template HarvesterMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// HarvesterMachineTemplateResource holds the metadata and the spec of a
// HarvesterMachine created from a template.
type HarvesterMachineTemplateResource struct {
	// metadata holds labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the HarvesterMachine.
	// +required
	Spec HarvesterMachineSpec `json:"spec,omitempty,omitzero"`
}

// HarvesterMachineTemplate is the template of the HarvesterMachines of a
// control plane or of a MachineDeployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvestermachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type HarvesterMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the HarvesterMachines created from the template.
	// +optional
	Spec HarvesterMachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status describes the Nodes of the machines, for the cluster autoscaler.
	// +optional
	Status faultlinev1.MachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// NodeStatus returns a pointer to the status.
func (t *HarvesterMachineTemplate) NodeStatus() *faultlinev1.MachineTemplateStatus { return &t.Status }

// HarvesterMachineTemplateList is a list of HarvesterMachineTemplates.
//
// +kubebuilder:object:root=true
type HarvesterMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterMachineTemplate `json:"items"`
}
