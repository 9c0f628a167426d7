// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	corev1 "k8s.io/api/core/v1"
)

// NetworkSpec defines the network of a virtual machine.
type NetworkSpec struct {
	// devices are the machine's network cards, in order. They replace the template's.
	// +required
	Devices []NetworkDeviceSpec `json:"devices"`

	// routes are static routes of the machine.
	// +optional
	Routes []NetworkRouteSpec `json:"routes,omitempty"`

	// preferredAPIServerCidr selected which of the machine's addresses its API server advertises. It is ignored, and v1beta2
	// does not have it.
	// +optional
	PreferredAPIServerCIDR string `json:"preferredAPIServerCidr,omitempty"`
}

// NetworkDeviceSpec defines a network card and its configuration in the guest.
type NetworkDeviceSpec struct {
	// networkName is the name or inventory path of the network that the card is connected to.
	// +required
	NetworkName string `json:"networkName"`

	// deviceName is the name of the card in the guest.
	// +optional
	DeviceName string `json:"deviceName,omitempty"`

	// dhcp4 enables DHCP for IPv4.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 enables DHCP for IPv6.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`

	// gateway4 is the IPv4 default gateway.
	// +optional
	Gateway4 string `json:"gateway4,omitempty"`

	// gateway6 is the IPv6 default gateway.
	// +optional
	Gateway6 string `json:"gateway6,omitempty"`

	// ipAddrs are static addresses with their prefix length, such as 10.0.0.10/24.
	// +optional
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// mtu is the maximum transmission unit, in bytes.
	// +optional
	MTU *int64 `json:"mtu,omitempty"`

	// macAddr is the card's MAC address. If omitted, vCenter generates one.
	// +optional
	MACAddr string `json:"macAddr,omitempty"`

	// nameservers are addresses of DNS servers.
	// +optional
	Nameservers []string `json:"nameservers,omitempty"`

	// routes are static routes through this card.
	// +optional
	Routes []NetworkRouteSpec `json:"routes,omitempty"`

	// searchDomains are the DNS search domains.
	// +optional
	SearchDomains []string `json:"searchDomains,omitempty"`

	// addressesFromPools are the pools from which an IPAM provider allocates addresses for this card.
	// +optional
	AddressesFromPools []corev1.TypedLocalObjectReference `json:"addressesFromPools,omitempty"`

	// dhcp4Overrides configure the DHCP client for IPv4.
	// +optional
	DHCP4Overrides *DHCPOverrides `json:"dhcp4Overrides,omitempty"`

	// dhcp6Overrides configure the DHCP client for IPv6.
	// +optional
	DHCP6Overrides *DHCPOverrides `json:"dhcp6Overrides,omitempty"`

	// skipIPAllocation leaves the card without addresses; they must be configured in the guest.
	// +optional
	SkipIPAllocation *bool `json:"skipIPAllocation,omitempty"`
}

// DHCPOverrides configure the guest's DHCP client, in the terms of netplan.
type DHCPOverrides struct {
	// hostname to send instead of the machine's.
	// +optional
	Hostname *string `json:"hostname,omitempty"`

	// routeMetric of the routes received by DHCP; lower values take precedence.
	// +optional
	RouteMetric *int `json:"routeMetric,omitempty"`

	// sendHostname sends the hostname to the DHCP server.
	// +optional
	SendHostname *bool `json:"sendHostname,omitempty"`

	// useDNS uses the DNS servers received from the DHCP server.
	// +optional
	UseDNS *bool `json:"useDNS,omitempty"`

	// useDomains uses the search domains received from the DHCP server: true, false or route.
	// +optional
	UseDomains *string `json:"useDomains,omitempty"`

	// useHostname uses the hostname received from the DHCP server.
	// +optional
	UseHostname *bool `json:"useHostname,omitempty"`

	// useMTU uses the MTU received from the DHCP server.
	// +optional
	UseMTU *bool `json:"useMTU,omitempty"`

	// useNTP uses the NTP servers received from the DHCP server.
	// +optional
	UseNTP *bool `json:"useNTP,omitempty"`

	// useRoutes uses the routes received from the DHCP server.
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

	// metric of the route; lower values take precedence.
	// +required
	Metric int32 `json:"metric"`
}

// NetworkStatus is the observed state of a network card.
type NetworkStatus struct {
	// connected is true if the card is connected to its network.
	// +optional
	Connected *bool `json:"connected,omitempty"`

	// ipAddrs are the addresses reported by the guest.
	// +optional
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// macAddr is the card's MAC address.
	// +required
	MACAddr string `json:"macAddr"`

	// networkName is the network that the card is connected to.
	// +optional
	NetworkName string `json:"networkName,omitempty"`
}
