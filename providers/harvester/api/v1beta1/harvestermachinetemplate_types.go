// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineTemplateGroupKind is what the annotation
// cluster.x-k8s.io/cloned-from-groupkind of a HarvesterMachine says when it was
// made from a HarvesterMachineTemplate.
const MachineTemplateGroupKind = "HarvesterMachineTemplate.infrastructure.cluster.x-k8s.io"

// HarvesterMachineTemplateSpec is what HarvesterMachines are made from.
type HarvesterMachineTemplateSpec struct {
	// template of the HarvesterMachines.
	// +optional
	Template HarvesterMachineTemplateResource `json:"template,omitempty,omitzero"`
}

// HarvesterMachineTemplateResource is metadata and spec of a HarvesterMachine to be.
type HarvesterMachineTemplateResource struct {
	// metadata is labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the HarvesterMachine.
	// +required
	Spec HarvesterMachineSpec `json:"spec,omitempty,omitzero"`
}

// HarvesterMachineTemplate is what the HarvesterMachines of a control plane or of a
// MachineDeployment are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvestermachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type HarvesterMachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what HarvesterMachines are made from.
	// +optional
	Spec HarvesterMachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// HarvesterMachineTemplateList is a list of HarvesterMachineTemplates.
//
// +kubebuilder:object:root=true
type HarvesterMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterMachineTemplate `json:"items"`
}
