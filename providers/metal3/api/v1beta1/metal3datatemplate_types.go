// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataTemplateSpec is what metadata and network data of machines are
// rendered from.
type Metal3DataTemplateSpec struct {
	// clusterName is the name of the Cluster that the template belongs to. It
	// is not used; the machines say which cluster they are of.
	// +required
	// +kubebuilder:validation:MinLength=1
	ClusterName string `json:"clusterName"`

	// templateReference is the name of a set of templates that count together.
	// It is kept and has no effect.
	// +optional
	TemplateReference string `json:"templateReference,omitempty"`

	// metaData is rendered to a map of strings.
	// +optional
	MetaData *MetaData `json:"metaData,omitempty"`

	// networkData is rendered to the format of OpenStack's network_data.json.
	// +optional
	NetworkData *NetworkData `json:"networkData,omitempty"`
}

// Metal3DataTemplateStatus is which machines have data of the template.
type Metal3DataTemplateStatus struct {
	// lastUpdated is when another version of the provider last wrote the
	// status.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`

	// indexes are the indexes in use, by the name of the Metal3DataClaim.
	// +optional
	Indexes map[string]int32 `json:"indexes,omitempty"`
}

// Metal3DataTemplate is what metadata and network data of machines are rendered
// from.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3datatemplates,scope=Namespaced,categories=cluster-api,shortName=m3dt;m3datatemplate;m3datatemplates;metal3dt;metal3datatemplate
// +kubebuilder:deprecatedversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3DataTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is what metadata and network data are rendered from.
	// +optional
	Spec Metal3DataTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is which machines have data of the template.
	// +optional
	Status Metal3DataTemplateStatus `json:"status,omitempty,omitzero"`
}

// Metal3DataTemplateList is a list of Metal3DataTemplates.
//
// +kubebuilder:object:root=true
type Metal3DataTemplateList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Metal3DataTemplate `json:"items"`
}
