// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// HarvesterClusterTemplateSpec defines the HarvesterClusters created from a
// template.
type HarvesterClusterTemplateSpec struct {
	// template of the HarvesterClusters.
	// +required
	Template HarvesterClusterTemplateResource `json:"template,omitempty,omitzero"`
}

// HarvesterClusterTemplateResource holds the metadata and the spec of a
// HarvesterCluster created from a template.
type HarvesterClusterTemplateResource struct {
	// metadata holds labels and annotations to set.
	// +optional
	ObjectMeta clusterv1.ObjectMeta `json:"metadata,omitempty,omitzero"`

	// spec of the HarvesterCluster.
	// +required
	Spec HarvesterClusterSpec `json:"spec,omitempty,omitzero"`
}

// HarvesterClusterTemplate is the template of HarvesterClusters.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=harvesterclustertemplates,scope=Namespaced,categories=cluster-api,shortName=hvct
// +kubebuilder:deprecatedversion:warning="infrastructure.cluster.x-k8s.io/v1alpha1 HarvesterClusterTemplate is deprecated: use infrastructure.cluster.x-k8s.io/v1beta1"
type HarvesterClusterTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the HarvesterClusters created from the template.
	// +optional
	Spec HarvesterClusterTemplateSpec `json:"spec,omitempty,omitzero"`
}

// HarvesterClusterTemplateList is a list of HarvesterClusterTemplates.
//
// +kubebuilder:object:root=true
type HarvesterClusterTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []HarvesterClusterTemplate `json:"items"`
}
