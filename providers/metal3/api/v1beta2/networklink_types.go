// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// NetworkDataLink lists the links of a host.
type NetworkDataLink struct {
	// ethernets are network cards.
	// +optional
	// +listType=map
	// +listMapKey=id
	Ethernets []NetworkDataLinkEthernet `json:"ethernets,omitempty"`

	// bonds are links that aggregate other links.
	// +optional
	// +listType=map
	// +listMapKey=id
	Bonds []NetworkDataLinkBond `json:"bonds,omitempty"`

	// bridges connect several links.
	// +optional
	// +listType=map
	// +listMapKey=id
	Bridges []NetworkDataLinkBridge `json:"bridges,omitempty"`

	// vlans are links that carry one VLAN of another link. VLANs of different links can have the same number.
	// +optional
	// +listType=atomic
	Vlans []NetworkDataLinkVlan `json:"vlans,omitempty"`
}

// NetworkDataLinkCommon holds the fields that all links share.
type NetworkDataLinkCommon struct {
	// id of the link, used to refer to it.
	// +required
	ID string `json:"id"`

	// name of the link in the guest.
	// +optional
	// +kubebuilder:validation:MaxLength=15
	// +kubebuilder:validation:Pattern=`^[a-zA-Z][a-zA-Z0-9._-]*$`
	Name string `json:"name,omitempty"`

	// mtu is the maximum transmission unit in bytes.
	// +optional
	// +kubebuilder:default=1500
	// +kubebuilder:validation:Maximum=9000
	MTU *int32 `json:"mtu,omitempty"`
}

// NetworkDataLinkEthernet is a network card.
type NetworkDataLinkEthernet struct {
	NetworkDataLinkCommon `json:",inline"`

	// type of the card; phy is a physical card.
	// +required
	// +kubebuilder:validation:Enum=bridge;dvs;hw_veb;hyperv;ovs;tap;vhostuser;vif;phy
	Type string `json:"type"`

	// macAddress of the card.
	// +required
	MACAddress *NetworkLinkEthernetMac `json:"macAddress,omitempty"`
}

// NetworkDataLinkBond is a link that aggregates other links.
type NetworkDataLinkBond struct {
	NetworkDataLinkCommon `json:",inline"`

	// bondMode is the bonding mode.
	// +required
	// +kubebuilder:validation:Enum="balance-rr";"active-backup";"balance-xor";"broadcast";"balance-tlb";"balance-alb";"802.3ad"
	BondMode string `json:"bondMode"`

	// bondXmitHashPolicy is the transmit hash policy, used with balance-xor and 802.3ad.
	// +optional
	// +kubebuilder:validation:Enum="layer2";"layer3+4";"layer2+3"
	BondXmitHashPolicy string `json:"bondXmitHashPolicy,omitempty"`

	// macAddress of the bond.
	// +optional
	MACAddress *NetworkLinkEthernetMac `json:"macAddress,omitempty"`

	// parameters are additional parameters of the bond. Each is rendered as bond_ followed by its name. A parameter that another
	// field sets is rejected.
	// +optional
	// +listType=map
	// +listMapKey=name
	Parameters []NetworkDataLinkParameter `json:"parameters,omitempty"`

	// bondLinks are the ids of the aggregated links.
	// +optional
	// +listType=set
	BondLinks []string `json:"bondLinks,omitempty"`
}

// NetworkDataLinkBridge connects several links.
type NetworkDataLinkBridge struct {
	NetworkDataLinkCommon `json:",inline"`

	// macAddress of the bridge.
	// +optional
	MACAddress *NetworkLinkEthernetMac `json:"macAddress,omitempty"`

	// bridgeLinks are the ids of the connected links.
	// +optional
	// +listType=set
	BridgeLinks []string `json:"bridgeLinks,omitempty"`

	// acceptRA configures whether the bridge accepts IPv6 router advertisements. If unset, the default of the guest applies.
	// +optional
	AcceptRA *bool `json:"acceptRA,omitempty"`

	// parameters are additional parameters of the bridge. Each is rendered as bridge_ followed by its name. A parameter that
	// another field sets is rejected.
	// +optional
	// +listType=map
	// +listMapKey=name
	Parameters []NetworkDataLinkParameter `json:"parameters,omitempty"`
}

// NetworkDataLinkParameter is a parameter of a bond or a bridge.
type NetworkDataLinkParameter struct {
	// name of the parameter.
	// +required
	// +kubebuilder:validation:MinLength=1
	Name string `json:"name,omitempty"`

	// value of the parameter, of any type.
	// +optional
	Value apiextensionsv1.JSON `json:"value,omitempty,omitzero"`
}

// NetworkDataLinkVlan is a link that carries one VLAN of another link.
type NetworkDataLinkVlan struct {
	NetworkDataLinkCommon `json:",inline"`

	// vlanID is the VLAN number.
	// +required
	// +kubebuilder:validation:Maximum=4096
	VlanID int32 `json:"vlanID"`

	// macAddress of the link.
	// +required
	MACAddress *NetworkLinkEthernetMac `json:"macAddress,omitempty"`

	// vlanLink is the id of the link that carries the VLAN.
	// +required
	VlanLink string `json:"vlanLink"`
}

// NetworkLinkEthernetMac is the source of a MAC address. One of the fields is set.
type NetworkLinkEthernetMac struct {
	// string is the address itself.
	// +optional
	String *string `json:"string,omitempty"`

	// fromHostInterface is the name of an interface in the hardware details of
	// the host.
	// +optional
	FromHostInterface *string `json:"fromHostInterface,omitempty"`

	// fromAnnotation is an annotation that holds the address.
	// +optional
	FromAnnotation *NetworkLinkEthernetMacFromAnnotation `json:"fromAnnotation,omitempty"`
}

// NetworkLinkEthernetMacFromAnnotation refers to an annotation that holds a MAC address.
type NetworkLinkEthernetMacFromAnnotation struct {
	// object that carries the annotation.
	// +required
	Object DataObject `json:"object"`

	// annotation is the key of the annotation.
	// +required
	Annotation string `json:"annotation"`
}
