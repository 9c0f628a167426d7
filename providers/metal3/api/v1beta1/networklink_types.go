// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// NetworkDataLink lists the links of a host.
type NetworkDataLink struct {
	// ethernets are network cards.
	// +optional
	Ethernets []infrav1.NetworkDataLinkEthernet `json:"ethernets,omitempty"`

	// bonds are links that aggregate other links.
	// +optional
	Bonds []NetworkDataLinkBond `json:"bonds,omitempty"`

	// vlans are links that carry one VLAN of another link.
	// +optional
	Vlans []infrav1.NetworkDataLinkVlan `json:"vlans,omitempty"`
}

// NetworkDataLinkBond is a link that aggregates other links.
type NetworkDataLinkBond struct {
	infrav1.NetworkDataLinkCommon `json:",inline"`

	// bondMode is the bonding mode.
	// +required
	// +kubebuilder:validation:Enum="balance-rr";"active-backup";"balance-xor";"broadcast";"balance-tlb";"balance-alb";"802.3ad"
	BondMode string `json:"bondMode"`

	// bondXmitHashPolicy is the transmit hash policy, used with balance-xor and 802.3ad.
	// +optional
	// +kubebuilder:validation:Enum="layer2";"layer3+4";"layer2+3"
	BondXmitHashPolicy string `json:"bondXmitHashPolicy,omitempty"`

	// macAddress of the bond.
	// +required
	MACAddress *infrav1.NetworkLinkEthernetMac `json:"macAddress,omitempty"`

	// parameters are additional parameters of the bond, by name.
	// +optional
	Parameters map[string]apiextensionsv1.JSON `json:"parameters,omitempty"`

	// bondLinks are the ids of the aggregated links.
	// +optional
	BondLinks []string `json:"bondLinks,omitempty"`
}
