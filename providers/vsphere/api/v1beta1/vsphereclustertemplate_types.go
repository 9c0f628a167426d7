// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// VSphereClusterTemplateSpec defines the desired state of VSphereClusterTemplate.
type VSphereClusterTemplateSpec struct {
	// template of the VSphereClusters.
	// +required
	Template VSphereClusterTemplateResource `json:"template"`
}

// VSphereClusterTemplateResource holds the spec of the VSphereClusters.
type VSphereClusterTemplateResource struct {
	// spec of the VSphereCluster.
	// +required
	Spec VSphereClusterSpec `json:"spec"`
}

// VSphereClusterTemplate is the template for the VSphereClusters of a ClusterClass.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vsphereclustertemplates,scope=Namespaced,categories=cluster-api
// +kubebuilder:deprecatedversion
type VSphereClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereClusterTemplate.
	// +optional
	Spec VSphereClusterTemplateSpec `json:"spec,omitempty"`
}

// VSphereClusterTemplateList is a list of VSphereClusterTemplates.
//
// +kubebuilder:object:root=true
type VSphereClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereClusterTemplate `json:"items"`
}
