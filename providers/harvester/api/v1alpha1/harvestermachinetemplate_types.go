// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

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

// HarvesterMachineTemplate is the template of HarvesterMachines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvestermachinetemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1alpha1 HarvesterMachineTemplate is deprecated: use infrastructure.cluster.x-k8s.io/v1beta1"
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

// HarvesterMachineTemplateList is a list of HarvesterMachineTemplates.
//
// +kubebuilder:object:root=true
type HarvesterMachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterMachineTemplate `json:"items"`
}
