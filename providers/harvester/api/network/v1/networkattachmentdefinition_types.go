// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ClusterNetworkLabel on a NetworkAttachmentDefinition is its cluster
	// network. Hosts on that cluster network have the label
	// HostNetworkLabelPrefix followed by its name.
	ClusterNetworkLabel = "network.harvesterhci.io/clusternetwork"

	// VLANLabel on a NetworkAttachmentDefinition is its VLAN.
	VLANLabel = "network.harvesterhci.io/vlan-id"

	// HostNetworkLabelPrefix on a host of Harvester precedes the name of a cluster network that the host has. The affinity terms that
	// Harvester adds for networks have it, too.
	HostNetworkLabelPrefix = "network.harvesterhci.io/"
)

// NetworkAttachmentDefinitionSpec defines how machines are attached to a
// network.
type NetworkAttachmentDefinitionSpec struct {
	// config is the configuration of the CNI plugin, as JSON.
	// +optional
	Config string `json:"config,omitempty"`
}

// NetworkAttachmentDefinition is a network that virtual machines can be
// attached to.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=network-attachment-definitions,scope=Namespaced,shortName=net-attach-def
// +kubebuilder:storageversion
type NetworkAttachmentDefinition struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines how machines are attached to the network.
	// +optional
	Spec NetworkAttachmentDefinitionSpec `json:"spec,omitempty,omitzero"`
}

// NetworkAttachmentDefinitionList is a list of NetworkAttachmentDefinitions.
//
// +kubebuilder:object:root=true
type NetworkAttachmentDefinitionList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []NetworkAttachmentDefinition `json:"items"`
}
