// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// NetworkSpec is how a virtual machine is connected.
type NetworkSpec struct {
	// devices are the machine's network cards, in order. They replace the
	// template's.
	// +required
	Devices []NetworkDeviceSpec `json:"devices"`

	// routes are static routes of the machine.
	// +optional
	Routes []NetworkRouteSpec `json:"routes,omitempty"`

	// preferredAPIServerCidr was which of the machine's addresses its API server
	// announces. Nothing acts on it, and v1beta2 does not have it.
	// +optional
	PreferredAPIServerCIDR string `json:"preferredAPIServerCidr,omitempty"`
}

// NetworkDeviceSpec is one network card and how the guest configures it.
type NetworkDeviceSpec struct {
	// networkName is the name or inventory path of the network that the card
	// is connected to.
	// +required
	NetworkName string `json:"networkName"`

	// deviceName is the name of the card in the guest.
	// +optional
	DeviceName string `json:"deviceName,omitempty"`

	// dhcp4 makes the guest ask for an IPv4 address.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 makes the guest ask for an IPv6 address.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`

	// gateway4 is the IPv4 default gateway.
	// +optional
	Gateway4 string `json:"gateway4,omitempty"`

	// gateway6 is the IPv6 default gateway.
	// +optional
	Gateway6 string `json:"gateway6,omitempty"`

	// ipAddrs are static addresses with their prefix length, such as
	// 10.0.0.10/24.
	// +optional
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// mtu is the largest packet, in bytes.
	// +optional
	MTU *int64 `json:"mtu,omitempty"`

	// macAddr is the card's MAC address. Without it vCenter makes one up.
	// +optional
	MACAddr string `json:"macAddr,omitempty"`

	// nameservers are addresses of DNS servers.
	// +optional
	Nameservers []string `json:"nameservers,omitempty"`

	// routes are static routes through this card.
	// +optional
	Routes []NetworkRouteSpec `json:"routes,omitempty"`

	// searchDomains are searched when a name is resolved.
	// +optional
	SearchDomains []string `json:"searchDomains,omitempty"`

	// addressesFromPools are pools that an IPAM provider takes addresses of
	// this card from.
	// +optional
	AddressesFromPools []corev1.TypedLocalObjectReference `json:"addressesFromPools,omitempty"`

	// dhcp4Overrides tune the DHCP client for IPv4.
	// +optional
	DHCP4Overrides *DHCPOverrides `json:"dhcp4Overrides,omitempty"`

	// dhcp6Overrides tune the DHCP client for IPv6.
	// +optional
	DHCP6Overrides *DHCPOverrides `json:"dhcp6Overrides,omitempty"`

	// skipIPAllocation leaves the card without addresses, for whoever
	// configures it in the guest.
	// +optional
	SkipIPAllocation *bool `json:"skipIPAllocation,omitempty"`
}

// DHCPOverrides tune the guest's DHCP client, in the words of netplan.
type DHCPOverrides struct {
	// hostname to send instead of the machine's.
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// routeMetric of the routes that DHCP gives; lower wins.
	// +optional
	RouteMetric *int `json:"routeMetric,omitempty"`

	// sendHostname sends the hostname to the DHCP server.
	// +optional
	SendHostname *bool `json:"sendHostname,omitempty"`

	// useDNS takes DNS servers from the DHCP server.
	// +optional
	UseDNS *bool `json:"useDNS,omitempty"`

	// useDomains takes search domains from the DHCP server: true, false or
	// route.
	// +optional
	UseDomains *string `json:"useDomains,omitempty"`

	// useHostname takes the hostname from the DHCP server.
	// +optional
	UseHostname *bool `json:"useHostname,omitempty"`

	// useMTU takes the MTU from the DHCP server.
	// +optional
	UseMTU *bool `json:"useMTU,omitempty"`

	// useNTP takes NTP servers from the DHCP server.
	// +optional
	UseNTP *bool `json:"useNTP,omitempty"`

	// useRoutes takes routes from the DHCP server.
	// +optional
	UseRoutes *string `json:"useRoutes,omitempty"`
}

// NetworkRouteSpec is a static route.
type NetworkRouteSpec struct {
	// to is the destination.
	// +required
	To string `json:"to"`

	// via is the gateway's address.
	// +required
	Via string `json:"via"`

	// metric of the route; lower wins.
	// +required
	Metric int32 `json:"metric"`
}

// NetworkStatus is what is known of one network card.
type NetworkStatus struct {
	// connected tells whether the card is connected to its network.
	// +optional
	Connected *bool `json:"connected,omitempty"`

	// ipAddrs are the addresses that the guest reports.
	// +optional
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// macAddr is the card's MAC address.
	// +required
	MACAddr string `json:"macAddr"`

	// networkName is the network that the card is on.
	// +optional
	NetworkName string `json:"networkName,omitempty"`
}
