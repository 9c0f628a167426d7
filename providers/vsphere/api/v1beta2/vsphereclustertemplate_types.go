// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// VSphereClusterTemplateSpec defines the desired state of VSphereClusterTemplate.
type VSphereClusterTemplateSpec struct {
	// template of the VSphereClusters.
	// +required
	Template VSphereClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// VSphereClusterTemplateResource holds the metadata and spec of the VSphereClusters.
// +kubebuilder:validation:MinProperties=1
type VSphereClusterTemplateResource struct {
	// metadata holds the labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the VSphereCluster.
	// +optional
	Spec VSphereClusterSpec `json:"spec,omitempty,omitzero"`
}

// VSphereClusterTemplate is the template for the VSphereClusters of a ClusterClass.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:storageversion
// +kubebuilder:printcolumn:name="ClusterClass",type="string",JSONPath=".metadata.ownerReferences[?(@.kind==\"ClusterClass\")].name",description="ClusterClass that owns the template"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type VSphereClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereClusterTemplate.
	// +optional
	Spec VSphereClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// VSphereClusterTemplateList is a list of VSphereClusterTemplates.
//
// +kubebuilder:object:root=true
type VSphereClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereClusterTemplate `json:"items"`
}
