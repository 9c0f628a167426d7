// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// MachineTemplateGroupKind is what the annotation
// cluster.x-k8s.io/cloned-from-groupkind of a Metal3Machine says when it was
// made from a Metal3MachineTemplate.
const MachineTemplateGroupKind = "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"

// Metal3MachineTemplateSpec is what Metal3Machines are made from.
type Metal3MachineTemplateSpec struct {
	// template of the Metal3Machines.
	// +required
	Template Metal3MachineTemplateResource `json:"template,omitempty,omitzero"`

	// nodeReuse gives hosts that a machine of the same control plane or
	// MachineDeployment had back to the next one.
	// +optional
	// +kubebuilder:default=false
	NodeReuse *bool `json:"nodeReuse,omitempty"`

	// failureDomainDataTemplates are Metal3DataTemplates for the machines on
	// hosts of single failure domains, so that each can have networks of its
	// own. They go before template.spec.dataTemplate. What counts is the domain
	// that the host is in, not the one that was asked for.
	// +optional
	// +listType=map
	// +listMapKey=failureDomain
	// +kubebuilder:validation:MaxItems=100
	FailureDomainDataTemplates []FailureDomainDataTemplate `json:"failureDomainDataTemplates,omitempty"`
}

// FailureDomainDataTemplate is the Metal3DataTemplate of one failure domain.
type FailureDomainDataTemplate struct {
	// failureDomain is the name of the domain.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	FailureDomain string `json:"failureDomain,omitempty"`

	// dataTemplate names the Metal3DataTemplate.
	// +required
	DataTemplate Metal3ObjectRef `json:"dataTemplate,omitempty,omitzero"`
}

// Metal3MachineTemplateResource is metadata and spec of a Metal3Machine to be.
type Metal3MachineTemplateResource struct {
	// metadata is labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the Metal3Machine.
	// +optional
	Spec Metal3MachineSpec `json:"spec,omitempty,omitzero"`
}

// Metal3MachineTemplate is what Metal3Machines of a control plane or of a
// MachineDeployment are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machinetemplates,scope=Namespaced,categories=cluster-api,shortName=m3mt;m3machinetemplate;m3machinetemplates;metal3mt;metal3machinetemplate
// +kubebuilder:storageversion
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
