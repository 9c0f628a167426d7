// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

// NetworkSpec defines the network of a virtual machine.
type NetworkSpec struct {
	// devices are the machine's network cards, in order. They replace the template's. A failure domain may set their networks
	// and add cards.
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

// NetworkDeviceSpec defines a network card and its configuration in the guest.
type NetworkDeviceSpec struct {
	// networkName is the name or inventory path of the network that the card is connected to. It may be omitted if the
	// machine's failure domain sets the networks.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=2048
	NetworkName string `json:"networkName,omitempty"`

	// deviceName is the name of the card in the guest.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	DeviceName string `json:"deviceName,omitempty"`

	// dhcp4 enables DHCP for IPv4.
	// +optional
	DHCP4 *bool `json:"dhcp4,omitempty"`

	// dhcp6 enables DHCP for IPv6.
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

	// ipAddrs are static addresses with their prefix length, such as 10.0.0.10/24.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=43
	IPAddrs []string `json:"ipAddrs,omitempty"`

	// mtu is the maximum transmission unit, in bytes.
	// +optional
	MTU *int64 `json:"mtu,omitempty"`

	// macAddr is the card's MAC address. If omitted, vCenter generates one.
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

	// searchDomains are the DNS search domains.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=1024
	SearchDomains []string `json:"searchDomains,omitempty"`

	// addressesFromPools are the pools from which an IPAM provider allocates addresses for this card.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=128
	AddressesFromPools []IPPoolReference `json:"addressesFromPools,omitempty"`

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

// IPPoolReference references an address pool of an IPAM provider.
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

// DHCPOverrides configure the guest's DHCP client, in the terms of netplan. They apply only if DHCP is enabled. The guest
// decides about omitted fields.
type DHCPOverrides struct {
	// hostname to send instead of the machine's.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Hostname *string `json:"hostname,omitempty"`

	// routeMetric of the routes received by DHCP; lower values take precedence.
	// +optional
	// +kubebuilder:validation:Minimum=0
	RouteMetric *int32 `json:"routeMetric,omitempty"`

	// sendHostname sends the hostname to the DHCP server.
	// +optional
	SendHostname *bool `json:"sendHostname,omitempty"`

	// useDNS uses the DNS servers received from the DHCP server.
	// +optional
	UseDNS *bool `json:"useDNS,omitempty"`

	// useDomains uses the search domains received from the DHCP server: true, false or route.
	// +optional
	// +kubebuilder:validation:MaxLength=128
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

	// metric of the route; lower values take precedence.
	// +required
	// +kubebuilder:validation:Minimum=0
	Metric *int32 `json:"metric,omitempty"`
}

// NetworkStatus is the observed state of a network card.
type NetworkStatus struct {
	// connected is true if the card is connected to its network.
	// +optional
	Connected *bool `json:"connected,omitempty"`

	// ipAddrs are the addresses reported by the guest.
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

	// networkName is the network that the card is connected to.
	// +optional
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	NetworkName string `json:"networkName,omitempty"`
}
