// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3RemediationTemplateSpec is what Metal3Remediations are made from.
type Metal3RemediationTemplateSpec struct {
	// template of the Metal3Remediations.
	// +required
	Template Metal3RemediationTemplateResource `json:"template"`
}

// Metal3RemediationTemplateResource is the spec of a Metal3Remediation to be.
type Metal3RemediationTemplateResource struct {
	// spec of the Metal3Remediation.
	// +required
	Spec Metal3RemediationSpec `json:"spec"`
}

// Metal3RemediationTemplateStatus is kept so that templates which carry a status
// are read back unchanged. No controller writes it.
type Metal3RemediationTemplateStatus struct {
	// status of a Metal3Remediation.
	// +required
	Status Metal3RemediationStatus `json:"status"`
}

// Metal3RemediationTemplate is what the Metal3Remediations of a
// MachineHealthCheck are made from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3remediationtemplates,scope=Namespaced,categories=cluster-api,shortName=m3rt;m3remediationtemplate;m3remediationtemplates;metal3rt;metal3remediationtemplate
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
type Metal3RemediationTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what Metal3Remediations are made from.
	// +optional
	Spec Metal3RemediationTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is kept as it is.
	// +optional
	Status Metal3RemediationTemplateStatus `json:"status,omitempty,omitzero"`
}

// Metal3RemediationTemplateList is a list of Metal3RemediationTemplates.
//
// +kubebuilder:object:root=true
type Metal3RemediationTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3RemediationTemplate `json:"items"`
}
