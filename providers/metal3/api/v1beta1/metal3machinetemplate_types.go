// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3MachineTemplateSpec is what Metal3Machines are made from.
type Metal3MachineTemplateSpec struct {
	// template of the Metal3Machines.
	// +required
	Template Metal3MachineTemplateResource `json:"template"`

	// nodeReuse gives hosts that a machine of the same control plane or
	// MachineDeployment had back to the next one.
	// +optional
	// +kubebuilder:default=false
	NodeReuse *bool `json:"nodeReuse,omitempty"`
}

// Metal3MachineTemplateResource is the spec of a Metal3Machine to be.
type Metal3MachineTemplateResource struct {
	// spec of the Metal3Machine.
	// +required
	Spec Metal3MachineSpec `json:"spec"`
}

// Metal3MachineTemplate is what Metal3Machines of a control plane or of a
// MachineDeployment are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machinetemplates,scope=Namespaced,categories=cluster-api,shortName=m3mt;m3machinetemplate;m3machinetemplates;metal3mt;metal3machinetemplate
// +kubebuilder:deprecatedversion
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3MachineTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what Metal3Machines are made from.
	// +optional
	Spec Metal3MachineTemplateSpec `json:"spec,omitempty,omitzero"`
}

// Metal3MachineTemplateList is a list of Metal3MachineTemplates.
//
// +kubebuilder:object:root=true
type Metal3MachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3MachineTemplate `json:"items"`
}
