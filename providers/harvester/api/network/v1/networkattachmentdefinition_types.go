// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	// ClusterNetworkLabel on a NetworkAttachmentDefinition is the cluster network
	// that it is in. Hosts that have it carry the label HostNetworkLabelPrefix
	// and its name.
	ClusterNetworkLabel = "network.harvesterhci.io/clusternetwork"

	// VLANLabel on a NetworkAttachmentDefinition is its VLAN.
	VLANLabel = "network.harvesterhci.io/vlan-id"

	// HostNetworkLabelPrefix is what labels of hosts and terms of affinity begin
	// with that Harvester adds for networks.
	HostNetworkLabelPrefix = "network.harvesterhci.io/"
)

// NetworkAttachmentDefinitionSpec is how a network is attached to.
type NetworkAttachmentDefinitionSpec struct {
	// config is the configuration of the network's plugin, as JSON.
	// +optional
	Config string `json:"config,omitempty"`
}

// NetworkAttachmentDefinition is a network that virtual machines are attached
// to.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=network-attachment-definitions,scope=Namespaced,shortName=net-attach-def
// +kubebuilder:storageversion
type NetworkAttachmentDefinition struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is how the network is attached to.
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
