// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
)

// NetworkData defines the network configuration of a host.
type NetworkData struct {
	// links of the host.
	// +optional
	Links NetworkDataLink `json:"links,omitempty,omitzero"`

	// networks configured on the links.
	// +optional
	Networks NetworkDataNetwork `json:"networks,omitempty,omitzero"`

	// services used by the host.
	// +optional
	Services NetworkDataService `json:"services,omitempty,omitzero"`
}

// NetworkDataNetwork lists the networks of a host.
type NetworkDataNetwork struct {
	// ipv4 are networks with an IPv4 address from a pool.
	// +optional
	// +listType=map
	// +listMapKey=id
	IPv4 []NetworkDataIPv4 `json:"ipv4,omitempty"`

	// ipv6 are networks with an IPv6 address from a pool.
	// +optional
	// +listType=map
	// +listMapKey=id
	IPv6 []NetworkDataIPv6 `json:"ipv6,omitempty"`

	// ipv4DHCP are networks with an IPv4 address from DHCP.
	// +optional
	// +listType=map
	// +listMapKey=id
	IPv4DHCP []NetworkDataIPv4DHCP `json:"ipv4DHCP,omitempty"`

	// ipv6DHCP are networks with an IPv6 address from DHCP.
	// +optional
	// +listType=map
	// +listMapKey=id
	IPv6DHCP []NetworkDataIPv6DHCP `json:"ipv6DHCP,omitempty"`

	// ipv6SLAAC are networks with IPv6 addresses that the host configures itself (SLAAC).
	// +optional
	// +listType=map
	// +listMapKey=id
	IPv6SLAAC []NetworkDataIPv6DHCP `json:"ipv6SLAAC,omitempty"`
}

// NetworkDataAddressSource is the pool that an address is claimed from. One of the fields is set; fromPoolAnnotation takes
// precedence.
type NetworkDataAddressSource struct {
	// ipAddressFromIPPool is the name of a metal3 IPPool.
	// +optional
	IPAddressFromIPPool string `json:"ipAddressFromIPPool,omitempty"`

	// fromPoolRef names a pool of any kind.
	// +optional
	FromPoolRef *IPPoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation is an annotation that names the pool.
	// +optional
	FromPoolAnnotation *FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`
}

// NetworkDataIPv4 is a network with an IPv4 address from a pool.
type NetworkDataIPv4 struct {
	// id of the network.
	// +required
	ID string `json:"id"`

	// link is the id of the link that carries the address.
	// +required
	Link string `json:"link"`

	NetworkDataAddressSource `json:",inline"`

	// routes through the network. Several routes can share a destination network if their prefix lengths differ.
	// +optional
	// +listType=atomic
	Routes []NetworkDataRoutev4 `json:"routes,omitempty"`
}

// NetworkDataIPv6 is a network with an IPv6 address from a pool.
type NetworkDataIPv6 struct {
	// id of the network.
	// +required
	ID string `json:"id"`

	// link is the id of the link that carries the address.
	// +required
	Link string `json:"link"`

	NetworkDataAddressSource `json:",inline"`

	// routes through the network. Several routes can share a destination network if their prefix lengths differ.
	// +optional
	// +listType=atomic
	Routes []NetworkDataRoutev6 `json:"routes,omitempty"`
}

// NetworkDataIPv4DHCP is a network with an IPv4 address from DHCP.
type NetworkDataIPv4DHCP struct {
	// id of the network.
	// +required
	ID string `json:"id"`

	// link is the id of the link that carries the address.
	// +required
	Link string `json:"link"`

	// routes through the network. Several routes can share a destination network if their prefix lengths differ.
	// +optional
	// +listType=atomic
	Routes []NetworkDataRoutev4 `json:"routes,omitempty"`
}

// NetworkDataIPv6DHCP is a network with an IPv6 address from DHCP or SLAAC.
type NetworkDataIPv6DHCP struct {
	// id of the network.
	// +required
	ID string `json:"id"`

	// link is the id of the link that carries the address.
	// +required
	Link string `json:"link"`

	// routes through the network. Several routes can share a destination network if their prefix lengths differ.
	// +optional
	// +listType=atomic
	Routes []NetworkDataRoutev6 `json:"routes,omitempty"`
}

// NetworkDataRoutev4 is an IPv4 route.
type NetworkDataRoutev4 struct {
	// network is the destination of the route.
	// +required
	Network ipamv1.IPAddressv4Str `json:"network"`

	// prefix is the prefix length of the network.
	// +optional
	// +kubebuilder:validation:Maximum=32
	Prefix int32 `json:"prefix,omitempty"`

	// gateway of the route.
	// +required
	Gateway NetworkGatewayv4 `json:"gateway,omitempty,omitzero"`

	// services that are reachable through the route.
	// +optional
	Services NetworkDataServicev4 `json:"services,omitempty,omitzero"`
}

// NetworkDataRoutev6 is an IPv6 route.
type NetworkDataRoutev6 struct {
	// network is the destination of the route.
	// +required
	Network ipamv1.IPAddressv6Str `json:"network"`

	// prefix is the prefix length of the network.
	// +optional
	// +kubebuilder:validation:Maximum=128
	Prefix int32 `json:"prefix,omitempty"`

	// gateway of the route.
	// +required
	Gateway NetworkGatewayv6 `json:"gateway,omitempty,omitzero"`

	// services that are reachable through the route.
	// +optional
	Services NetworkDataServicev6 `json:"services,omitempty,omitzero"`
}

// NetworkGatewaySource is the pool that provides a gateway. fromPoolAnnotation takes precedence.
type NetworkGatewaySource struct {
	// fromIPPool is the name of a metal3 IPPool.
	// +optional
	FromIPPool *string `json:"fromIPPool,omitempty"`

	// fromPoolRef names a pool of any kind.
	// +optional
	FromPoolRef *IPPoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation is an annotation that names the pool.
	// +optional
	FromPoolAnnotation *FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`
}

// NetworkGatewayv4 is an IPv4 gateway, given as an address or taken from a pool.
type NetworkGatewayv4 struct {
	// string is the address itself.
	// +optional
	String *ipamv1.IPAddressv4Str `json:"string,omitempty"`

	NetworkGatewaySource `json:",inline"`
}

// NetworkGatewayv6 is an IPv6 gateway, given as an address or taken from a pool.
type NetworkGatewayv6 struct {
	// string is the address itself.
	// +optional
	String *ipamv1.IPAddressv6Str `json:"string,omitempty"`

	NetworkGatewaySource `json:",inline"`
}

// NetworkDataService lists services used by a host.
type NetworkDataService struct {
	// dns are addresses of DNS servers.
	// +optional
	// +listType=set
	DNS []ipamv1.IPAddressStr `json:"dns,omitempty"`

	// dnsFromIPPool is the name of a metal3 IPPool. Its DNS servers are added to dns.
	// +optional
	DNSFromIPPool *string `json:"dnsFromIPPool,omitempty"`
}

// NetworkDataServicev4 lists services that are reachable through an IPv4 route.
type NetworkDataServicev4 struct {
	// dns are addresses of DNS servers.
	// +optional
	// +listType=set
	DNS []ipamv1.IPAddressv4Str `json:"dns,omitempty"`

	// dnsFromIPPool is the name of a metal3 IPPool. Its DNS servers are added to dns.
	// +optional
	DNSFromIPPool *string `json:"dnsFromIPPool,omitempty"`
}

// NetworkDataServicev6 lists services that are reachable through an IPv6 route.
type NetworkDataServicev6 struct {
	// dns are addresses of DNS servers.
	// +optional
	// +listType=set
	DNS []ipamv1.IPAddressv6Str `json:"dns,omitempty"`

	// dnsFromIPPool is the name of a metal3 IPPool. Its DNS servers are added to dns.
	// +optional
	DNSFromIPPool *string `json:"dnsFromIPPool,omitempty"`
}
