// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// VSphereFailureDomainSpec defines the desired state of VSphereFailureDomain.
type VSphereFailureDomainSpec struct {
	// region is the larger unit, identified by its vSphere tag.
	// +required
	Region FailureDomain `json:"region"`

	// zone is the smaller unit, identified by its vSphere tag.
	// +required
	Zone FailureDomain `json:"zone"`

	// topology is the part of the inventory in which the machines of this failure domain are placed.
	// +required
	Topology Topology `json:"topology"`
}

// FailureDomain is a region or a zone: a vSphere tag, and the kind of object that carries it.
type FailureDomain struct {
	// name of the tag.
	// +required
	Name string `json:"name"`

	// type of the objects that carry the tag.
	// +required
	// +kubebuilder:validation:Enum=Datacenter;ComputeCluster;HostGroup
	Type infrav1.FailureDomainType `json:"type"`

	// tagCategory is the category of the tag.
	// +required
	TagCategory string `json:"tagCategory"`

	// autoConfigure creates the category, the tag and its attachments in vCenter if they are missing. If omitted, they are only
	// verified.
	// +optional
	AutoConfigure *bool `json:"autoConfigure,omitempty"`
}

// Topology is a part of the inventory.
type Topology struct {
	// datacenter of the failure domain.
	// +required
	Datacenter string `json:"datacenter"`

	// computeCluster of the failure domain.
	// +optional
	ComputeCluster *string `json:"computeCluster,omitempty"`

	// hosts are the groups that tie machines to hosts of the compute cluster.
	// +optional
	Hosts *FailureDomainHosts `json:"hosts,omitempty"`

	// networks are names of networks, one per network card, in order.
	// +optional
	Networks []string `json:"networks,omitempty"`

	// networkConfigurations are networks and the configuration of the cards connected to them, one per network card, in order.
	// +optional
	// +listType=map
	// +listMapKey=networkName
	NetworkConfigurations []NetworkConfiguration `json:"networkConfigurations,omitempty"`

	// datastore on which the machines' files are placed.
	// +optional
	Datastore string `json:"datastore,omitempty"`
}

// NetworkConfiguration is a network of a failure domain and the configuration of the card connected to it. Omitted fields are
// taken from the machine.
type NetworkConfiguration struct {
	// networkName is the name or inventory path of the network.
	// +required
	NetworkName string `json:"networkName"`

	// dhcp4 enables DHCP for IPv4.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 enables DHCP for IPv6.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`

	// nameservers are addresses of DNS servers.
	// +optional
	Nameservers []string `json:"nameservers,omitempty"`

	// searchDomains are the DNS search domains.
	// +optional
	SearchDomains []string `json:"searchDomains,omitempty"`

	// dhcp4Overrides configure the DHCP client for IPv4.
	// +optional
	DHCP4Overrides *DHCPOverrides `json:"dhcp4Overrides,omitempty"`

	// dhcp6Overrides configure the DHCP client for IPv6.
	// +optional
	DHCP6Overrides *DHCPOverrides `json:"dhcp6Overrides,omitempty"`

	// addressesFromPools are the pools from which an IPAM provider allocates addresses for this card.
	// +optional
	AddressesFromPools []corev1.TypedLocalObjectReference `json:"addressesFromPools,omitempty"`
}

// FailureDomainHosts are the groups that tie machines to hosts.
type FailureDomainHosts struct {
	// vmGroupName is the VM group that machines join.
	// +required
	VMGroupName string `json:"vmGroupName"`

	// hostGroupName is the host group.
	// +required
	HostGroupName string `json:"hostGroupName"`

	// autoConfigure creates the VM group and the rule in vCenter if they are missing. If omitted, they are only verified.
	// +optional
	AutoConfigure *bool `json:"autoConfigure,omitempty"`
}

// VSphereFailureDomain is a part of a vCenter that fails as a unit.
//
// +kubebuilder:object:root=true
// +kubebuilder:resource:path=vspherefailuredomains,scope=Cluster,categories=cluster-api
// +kubebuilder:deprecatedversion
type VSphereFailureDomain struct {
	metav1.TypeMeta `json:",inline"`

	// metadata is standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec is the desired state of VSphereFailureDomain.
	// +optional
	Spec VSphereFailureDomainSpec `json:"spec,omitempty,omitzero"`
}

// VSphereFailureDomainList is a list of VSphereFailureDomains.
//
// +kubebuilder:object:root=true
type VSphereFailureDomainList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []VSphereFailureDomain `json:"items"`
}
