// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// NetworkSpec is how a virtual machine is connected.
type NetworkSpec struct {
	// devices are the machine's network cards, in order. They replace the
	// template's. A failure domain may name their networks, and add cards.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	Devices []NetworkDeviceSpec `json:"devices,omitempty"`

	// routes are static routes of the machine.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Routes []NetworkRouteSpec `json:"routes,omitempty"`
}

// NetworkDeviceSpec is one network card and how the guest configures it.
type NetworkDeviceSpec struct {
	// networkName is the name or inventory path of the network that the card
	// is connected to. It may be left out when the machine's failure domain
	// names the networks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	NetworkName string `json:"networkName,omitempty"`

	// deviceName is the name of the card in the guest.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	DeviceName string `json:"deviceName,omitempty"`

	// dhcp4 makes the guest ask for an IPv4 address.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 makes the guest ask for an IPv6 address.
	// +optional
	DHCP6 *bool `json:"dhcp6,omitempty"`

	// gateway4 is the IPv4 default gateway.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Gateway4 string `json:"gateway4,omitempty"`

	// gateway6 is the IPv6 default gateway.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=64
	Gateway6 string `json:"gateway6,omitempty"`

	// ipAddrs are static addresses with their prefix length, such as
	// 10.0.0.10/24.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// mtu is the largest packet, in bytes.
	// +optional
	MTU *int64 `json:"mtu,omitempty"`

	// macAddr is the card's MAC address. Without it vCenter makes one up.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=23
	MACAddr string `json:"macAddr,omitempty"`

	// nameservers are addresses of DNS servers.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=64
	Nameservers []string `json:"nameservers,omitempty"`

	// routes are static routes through this card.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	Routes []NetworkRouteSpec `json:"routes,omitempty"`

	// searchDomains are searched when a name is resolved.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	SearchDomains []string `json:"searchDomains,omitempty"`

	// addressesFromPools are pools that an IPAM provider takes addresses of
	// this card from.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`

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

// IPPoolReference names an address pool of an IPAM provider.
type IPPoolReference struct {
	// name of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	Name string `json:"name,omitempty"`

	// kind of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=63
	// +kubebuilder:validation:Pattern=`^[a-zA-Z]([-a-zA-Z0-9]*[a-zA-Z0-9])?$`
	Kind string `json:"kind,omitempty"`

	// apiGroup of the pool.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=253
	// +kubebuilder:validation:Pattern=`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`
	APIGroup string `json:"apiGroup,omitempty"`
}

// DHCPOverrides tune the guest's DHCP client, in the words of netplan. They
// apply only where DHCP is on; what is left out is left to the guest.
type DHCPOverrides struct {
	// hostname to send instead of the machine's.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Hostname *string `json:"hostname,omitempty"`

	// routeMetric of the routes that DHCP gives; lower wins.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RouteMetric *int32 `json:"routeMetric,omitempty"`

	// sendHostname sends the hostname to the DHCP server.
	// +optional
	SendHostname *bool `json:"sendHostname,omitempty"`

	// useDNS takes DNS servers from the DHCP server.
	// +optional
	UseDNS *bool `json:"useDNS,omitempty"`

	// useDomains takes search domains from the DHCP server: true, false or
	// route.
	// +optional
	// +kubebuilder:validation:MaxLength=128
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
	// +kubebuilder:validation:MaxLength=128
	UseRoutes *string `json:"useRoutes,omitempty"`
}

// NetworkRouteSpec is a static route.
type NetworkRouteSpec struct {
	// to is the destination.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=43
	To string `json:"to,omitempty"`

	// via is the gateway's address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=39
	Via string `json:"via,omitempty"`

	// metric of the route; lower wins.
	// +required
	// +kubebuilder:validation:Minimum=0
	Metric *int32 `json:"metric,omitempty"`
}

// NetworkStatus is what is known of one network card.
type NetworkStatus struct {
	// connected tells whether the card is connected to its network.
	// +optional
	Connected *bool `json:"connected,omitempty"`

	// ipAddrs are the addresses that the guest reports.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=39
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// macAddr is the card's MAC address.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=17
	MACAddr string `json:"macAddr,omitempty"`

	// networkName is the network that the card is on.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	NetworkName string `json:"networkName,omitempty"`
}
