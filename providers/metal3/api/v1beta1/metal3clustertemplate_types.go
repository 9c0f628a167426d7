// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3ClusterTemplateSpec defines the template of Metal3Clusters.
type Metal3ClusterTemplateSpec struct {
	// template of the Metal3Clusters.
	// +required
	Template Metal3ClusterTemplateResource `json:"template"`
}

// Metal3ClusterTemplateResource defines the spec of a Metal3Cluster created from the template.
type Metal3ClusterTemplateResource struct {
	// spec of the Metal3Cluster.
	// +required
	Spec Metal3ClusterSpec `json:"spec"`
}

// Metal3ClusterTemplate is the template for the Metal3Clusters of a ClusterClass.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3clustertemplates,scope=Namespaced,categories=cluster-api,shortName=m3ct
// +kubebuilder:deprecatedversion
type Metal3ClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the template of Metal3Clusters.
	// +optional
	Spec Metal3ClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// Metal3ClusterTemplateList is a list of Metal3ClusterTemplates.
//
// +kubebuilder:object:root=true
type Metal3ClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3ClusterTemplate `json:"items"`
}
