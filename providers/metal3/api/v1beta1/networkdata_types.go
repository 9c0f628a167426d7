// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
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
	IPv4 []NetworkDataIPv4 `json:"ipv4,omitempty"`

	// ipv6 are networks with an IPv6 address from a pool.
	// +optional
	IPv6 []NetworkDataIPv6 `json:"ipv6,omitempty"`

	// ipv4DHCP are networks with an IPv4 address from DHCP.
	// +optional
	IPv4DHCP []NetworkDataIPv4DHCP `json:"ipv4DHCP,omitempty"`

	// ipv6DHCP are networks with an IPv6 address from DHCP.
	// +optional
	IPv6DHCP []NetworkDataIPv6DHCP `json:"ipv6DHCP,omitempty"`

	// ipv6SLAAC are networks with IPv6 addresses that the host configures itself (SLAAC).
	// +optional
	IPv6SLAAC []NetworkDataIPv6DHCP `json:"ipv6SLAAC,omitempty"`
}

// PoolReference names an address pool in the namespace of the machine.
type PoolReference struct {
	// apiGroup of the pool. Defaults to the API group of metal3 IPPools.
	// +optional
	APIGroup *string `json:"apiGroup,omitempty"`

	// kind of the pool.
	// +required
	Kind string `json:"kind"`

	// name of the pool.
	// +required
	Name string `json:"name"`
}

// NetworkDataIPv4 is a network with an IPv4 address from a pool.
type NetworkDataIPv4 struct {
	// id of the network.
	// +required
	ID string `json:"id"`

	// link is the id of the link that carries the address.
	// +required
	Link string `json:"link"`

	// ipAddressFromIPPool is the name of a metal3 IPPool.
	// +optional
	IPAddressFromIPPool string `json:"ipAddressFromIPPool,omitempty"`

	// fromPoolRef names a pool of any kind.
	// +optional
	// +structType=atomic
	FromPoolRef *PoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation is an annotation that names the pool.
	// +optional
	FromPoolAnnotation *infrav1.FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`

	// routes through the network.
	// +optional
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

	// ipAddressFromIPPool is the name of a metal3 IPPool. It may be empty.
	// +required
	IPAddressFromIPPool string `json:"ipAddressFromIPPool"`

	// fromPoolRef names a pool of any kind.
	// +optional
	// +structType=atomic
	FromPoolRef *PoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation is an annotation that names the pool.
	// +optional
	FromPoolAnnotation *infrav1.FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`

	// routes through the network.
	// +optional
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

	// routes through the network.
	// +optional
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

	// routes through the network.
	// +optional
	Routes []NetworkDataRoutev6 `json:"routes,omitempty"`
}

// NetworkDataRoutev4 is an IPv4 route.
type NetworkDataRoutev4 struct {
	// network is the destination of the route.
	// +required
	Network ipamv1.IPAddressv4Str `json:"network"`

	// prefix is the prefix length of the destination network.
	// +optional
	// +kubebuilder:validation:Maximum=32
	Prefix *int32 `json:"prefix,omitempty"`

	// gateway of the route.
	// +required
	Gateway NetworkGatewayv4 `json:"gateway"`

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
	Prefix *int32 `json:"prefix,omitempty"`

	// gateway of the route.
	// +required
	Gateway NetworkGatewayv6 `json:"gateway"`

	// services that are reachable through the route.
	// +optional
	Services NetworkDataServicev6 `json:"services,omitempty,omitzero"`
}

// NetworkGatewayv4 is an IPv4 gateway, given as an address or taken from a pool.
type NetworkGatewayv4 struct {
	// string is the address itself.
	// +optional
	String *ipamv1.IPAddressv4Str `json:"string,omitempty"`

	// fromIPPool is the name of a metal3 IPPool.
	// +optional
	FromIPPool *string `json:"fromIPPool,omitempty"`

	// fromPoolRef names a pool of any kind.
	// +optional
	// +structType=atomic
	FromPoolRef *PoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation is an annotation that names the pool.
	// +optional
	FromPoolAnnotation *infrav1.FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`
}

// NetworkGatewayv6 is an IPv6 gateway, given as an address or taken from a pool.
type NetworkGatewayv6 struct {
	// string is the address itself.
	// +optional
	String *ipamv1.IPAddressv6Str `json:"string,omitempty"`

	// fromIPPool is the name of a metal3 IPPool.
	// +optional
	FromIPPool *string `json:"fromIPPool,omitempty"`

	// fromPoolRef names a pool of any kind.
	// +optional
	// +structType=atomic
	FromPoolRef *PoolReference `json:"fromPoolRef,omitempty"`

	// fromPoolAnnotation is an annotation that names the pool.
	// +optional
	FromPoolAnnotation *infrav1.FromPoolAnnotation `json:"fromPoolAnnotation,omitempty"`
}

// NetworkDataService lists services used by a host.
type NetworkDataService struct {
	// dns are addresses of DNS servers.
	// +optional
	DNS []ipamv1.IPAddressStr `json:"dns,omitempty"`

	// dnsFromIPPool is the name of a metal3 IPPool. Its DNS servers are added to dns.
	// +optional
	DNSFromIPPool *string `json:"dnsFromIPPool,omitempty"`
}

// NetworkDataServicev4 lists services that are reachable through an IPv4 route.
type NetworkDataServicev4 struct {
	// dns are addresses of DNS servers.
	// +optional
	DNS []ipamv1.IPAddressv4Str `json:"dns,omitempty"`

	// dnsFromIPPool is the name of a metal3 IPPool. Its DNS servers are added to dns.
	// +optional
	DNSFromIPPool *string `json:"dnsFromIPPool,omitempty"`
}

// NetworkDataServicev6 lists services that are reachable through an IPv6 route.
type NetworkDataServicev6 struct {
	// dns are addresses of DNS servers.
	// +optional
	DNS []ipamv1.IPAddressv6Str `json:"dns,omitempty"`

	// dnsFromIPPool is the name of a metal3 IPPool. Its DNS servers are added to dns.
	// +optional
	DNSFromIPPool *string `json:"dnsFromIPPool,omitempty"`
}
