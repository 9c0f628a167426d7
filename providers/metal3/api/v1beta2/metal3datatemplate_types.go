// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Metal3DataTemplateSpec defines the metadata and network data rendered for machines.
type Metal3DataTemplateSpec struct {
	// clusterName is the name of the Cluster that the template belongs to. It is not used; the cluster is read from the machines.
	// +optional
	ClusterName string `json:"clusterName,omitempty"`

	// metaData is rendered to a map of strings.
	// +optional
	MetaData *MetaData `json:"metaData,omitempty"`

	// networkData is rendered in the format of OpenStack's network_data.json.
	// +optional
	NetworkData *NetworkData `json:"networkData,omitempty"`
}

// Metal3DataTemplateStatus defines the observed state of a Metal3DataTemplate.
type Metal3DataTemplateStatus struct {
	// indexes lists the indexes in use and the claims that hold them.
	// +optional
	// +listType=map
	// +listMapKey=index
	Indexes []IndexEntry `json:"indexes,omitempty"`

	// lastUpdated is the time at which another version of the provider last wrote the status. It is preserved unchanged.
	// +optional
	LastUpdated *metav1.Time `json:"lastUpdated,omitempty"`
}

// IndexEntry is an index in use.
type IndexEntry struct {
	// name of the Metal3DataClaim, which is also the name of the Metal3Machine.
	// +required
	Name string `json:"name"`

	// index held by the claim.
	// +required
	Index int32 `json:"index"`
}

// Metal3DataTemplate is the template for metadata and network data of machines.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=metal3datatemplates,scope=Namespaced,categories=cluster-api,shortName=m3dt;m3datatemplate;m3datatemplates;metal3dt;metal3datatemplate
// +kubebuilder:storageversion
// +kubebuilder:subresource:status
// +kubebuilder:printcolumn:name="Cluster",type="string",JSONPath=".metadata.labels.cluster\\.x-k8s\\.io/cluster-name",description="Cluster"
// +kubebuilder:printcolumn:name="Age",type="date",JSONPath=".metadata.creationTimestamp",description="Time since creation"
type Metal3DataTemplate struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines the metadata and network data rendered for machines.
	// +optional
	Spec Metal3DataTemplateSpec `json:"spec,omitempty,omitzero"`

	// status is the observed state of the template.
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
