// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3RemediationTemplateSpec defines the template of Metal3Remediations.
type Metal3RemediationTemplateSpec struct {
	// template of the Metal3Remediations.
	// +required
	Template Metal3RemediationTemplateResource `json:"template"`
}

// Metal3RemediationTemplateResource defines the spec of a Metal3Remediation created from the template.
type Metal3RemediationTemplateResource struct {
	// spec of the Metal3Remediation.
	// +required
	Spec Metal3RemediationSpec `json:"spec"`
}

// Metal3RemediationTemplateStatus is preserved for templates that carry a status. No controller writes it.
type Metal3RemediationTemplateStatus struct {
	// status of a Metal3Remediation.
	// +required
	Status Metal3RemediationStatus `json:"status"`
}

// Metal3RemediationTemplate is the template for the Metal3Remediations of a MachineHealthCheck.
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

	// spec defines the template of Metal3Remediations.
	// +optional
	Spec Metal3RemediationTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is preserved unchanged.
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
