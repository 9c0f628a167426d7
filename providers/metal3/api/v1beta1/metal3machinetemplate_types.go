// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Metal3MachineTemplateSpec defines the template of Metal3Machines.
type Metal3MachineTemplateSpec struct {
	// template of the Metal3Machines.
	// +required
	Template Metal3MachineTemplateResource `json:"template"`

	// nodeReuse gives a host that was released by a machine of a control plane or MachineDeployment to the next machine of the
	// same owner.
	// +optional
	// +kubebuilder:default=false
	NodeReuse *bool `json:"nodeReuse,omitempty"`
}

// Metal3MachineTemplateResource defines the spec of a Metal3Machine created from the template.
type Metal3MachineTemplateResource struct {
	// spec of the Metal3Machine.
	// +required
	Spec Metal3MachineSpec `json:"spec"`
}

// Metal3MachineTemplate is the template for the Metal3Machines of a control plane or a MachineDeployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machinetemplates,scope=Namespaced,categories=cluster-api,shortName=m3mt;m3machinetemplate;m3machinetemplates;metal3mt;metal3machinetemplate
// +kubebuilder:subresource:status
// +kubebuilder:deprecatedversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3MachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the template of Metal3Machines.
	// +optional
	Spec Metal3MachineTemplateSpec `json:"spec,omitempty,omitzero"`

	// status describes the Nodes of the machines, for the cluster autoscaler.
	// +optional
	Status faultlinev1.MachineTemplateStatus `json:"status,omitempty,omitzero"`
}

// Metal3MachineTemplateList is a list of Metal3MachineTemplates.
//
// +kubebuilder:object:root=true
type Metal3MachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3MachineTemplate `json:"items"`
}
