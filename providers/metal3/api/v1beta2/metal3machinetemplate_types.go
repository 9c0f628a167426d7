// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// MachineTemplateGroupKind is the value of annotation cluster.x-k8s.io/cloned-from-groupkind on a Metal3Machine that was created
// from a Metal3MachineTemplate.
const MachineTemplateGroupKind = "Metal3MachineTemplate.infrastructure.cluster.x-k8s.io"

// Metal3MachineTemplateSpec defines the template of Metal3Machines.
type Metal3MachineTemplateSpec struct {
	// template of the Metal3Machines.
	// +required
	Template Metal3MachineTemplateResource `json:"template,omitempty,omitzero"`

	// nodeReuse gives a host that was released by a machine of a control plane or MachineDeployment to the next machine of the
	// same owner.
	// +optional
	// +kubebuilder:default=false
	NodeReuse *bool `json:"nodeReuse,omitempty"`

	// failureDomainDataTemplates override template.spec.dataTemplate for machines on hosts of individual failure domains, so that
	// each failure domain can have its own networks. The failure domain of the host counts, not the requested one.
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

// Metal3MachineTemplateResource defines metadata and spec of a Metal3Machine created from the template.
type Metal3MachineTemplateResource struct {
	// metadata holds labels and annotations of the created objects.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the Metal3Machine.
	// +optional
	Spec Metal3MachineSpec `json:"spec,omitempty,omitzero"`
}

// Metal3MachineTemplate is the template for the Metal3Machines of a control plane or a MachineDeployment.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3machinetemplates,scope=Namespaced,categories=cluster-api,shortName=m3mt;m3machinetemplate;m3machinetemplates;metal3mt;metal3machinetemplate
// +kubebuilder:subresource:status
// +kubebuilder:storageversion
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

// NodeStatus returns a pointer to the status.
func (t *Metal3MachineTemplate) NodeStatus() *faultlinev1.MachineTemplateStatus { return &t.Status }

// Metal3MachineTemplateList is a list of Metal3MachineTemplates.
//
// +kubebuilder:object:root=true
type Metal3MachineTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3MachineTemplate `json:"items"`
}
