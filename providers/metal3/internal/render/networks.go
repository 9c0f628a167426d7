// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"net"
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// family is an IP family, with the number of bits in its addresses as the value.
type family int

const (
	ipv4 family = 32
	ipv6 family = 128
)

func (f family) String() string {
	if f == ipv4 {
		return "IPv4"
	}
	return "IPv6"
}

// netmask returns the netmask of a prefix length.
func (f family) netmask(prefix int32) (string, error) {
	mask := net.CIDRMask(int(prefix), int(f))
	if mask == nil {
		return "", fmt.Errorf("the prefix of an %s network must be 0 to %d bits long, not %d", f, int(f), prefix)
	}
	return net.IP(mask).String(), nil
}

// check returns an error if the address is invalid or of the other family.
func (f family) check(address string) error {
	parsed, err := netip.ParseAddr(address)
	if err != nil || parsed.BitLen() != int(f) {
		return fmt.Errorf("%q is not an %s address", address, f)
	}
	return nil
}

// network is a network of any list of the template.
type network struct {
	path   *field.Path
	family family
	kind   string
	id     string
	link   string
	static bool // the address is from a pool
	pool   source
	routes []route
}

// route is a route of either IP family.
type route struct {
	path        *field.Path
	family      family
	network     string
	prefix      int32
	gateway     string
	gatewayPool source
	services    nameServers
}

func renderNetworks(list []network, in *Input) ([]entry, error) {
	out := make([]entry, len(list))
	for i := range list {
		rendered, err := list[i].render(in)
		if err != nil {
			return nil, err
		}
		out[i] = rendered
	}
	return out, nil
}

func (n *network) render(in *Input) (entry, error) {
	routes := make([]entry, len(n.routes))
	for i := range n.routes {
		rendered, err := n.routes[i].render(in)
		if err != nil {
			return nil, err
		}
		routes[i] = rendered
	}
	out := entry{"type": n.kind, "id": n.id, "link": n.link, "routes": routes}
	if !n.static {
		return out, nil
	}
	address, err := n.pool.address(in)
	if err != nil {
		return nil, err
	}
	if err := n.family.check(address.Address); err != nil {
		return nil, at(n.path, err)
	}
	netmask, err := n.family.netmask(address.Prefix)
	if err != nil {
		return nil, at(n.path, err)
	}
	out["ip_address"], out["netmask"] = address.Address, netmask
	return out, nil
}

func (r *route) render(in *Input) (entry, error) {
	gateway := r.gateway
	if gateway == "" && !r.gatewayPool.empty() {
		address, err := r.gatewayPool.address(in)
		if err != nil {
			return nil, err
		}
		gateway = address.Gateway
	}
	netmask, err := r.family.netmask(r.prefix)
	if err != nil {
		return nil, at(r.path.Child("prefix"), err)
	}
	services, err := r.services.render(in)
	if err != nil {
		return nil, err
	}
	return entry{"network": r.network, "netmask": netmask, "gateway": gateway, "services": services}, nil
}

// networks returns the networks of all lists in the order in which they are rendered.
func networks(spec *infrav1.NetworkData) []network {
	path, lists := networkDataPath("networks"), &spec.Networks
	var all []network
	for i, n := range lists.IPv4 {
		path := path.Child("ipv4").Index(i)
		all = append(all, network{path: path, family: ipv4, kind: "ipv4", id: n.ID, link: n.Link,
			static: true, pool: addressSource(path, &n.NetworkDataAddressSource), routes: routesV4(path, n.Routes)})
	}
	for i, n := range lists.IPv6 {
		path := path.Child("ipv6").Index(i)
		all = append(all, network{path: path, family: ipv6, kind: "ipv6", id: n.ID, link: n.Link,
			static: true, pool: addressSource(path, &n.NetworkDataAddressSource), routes: routesV6(path, n.Routes)})
	}
	for i, n := range lists.IPv4DHCP {
		path := path.Child("ipv4DHCP").Index(i)
		all = append(all, network{path: path, family: ipv4, kind: "ipv4_dhcp", id: n.ID, link: n.Link, routes: routesV4(path, n.Routes)})
	}
	for i, n := range lists.IPv6DHCP {
		path := path.Child("ipv6DHCP").Index(i)
		all = append(all, network{path: path, family: ipv6, kind: "ipv6_dhcp", id: n.ID, link: n.Link, routes: routesV6(path, n.Routes)})
	}
	for i, n := range lists.IPv6SLAAC {
		path := path.Child("ipv6SLAAC").Index(i)
		all = append(all, network{path: path, family: ipv6, kind: "ipv6_slaac", id: n.ID, link: n.Link, routes: routesV6(path, n.Routes)})
	}
	return all
}

func addressSource(path *field.Path, s *infrav1.NetworkDataAddressSource) source {
	return source{path: path, annotation: s.FromPoolAnnotation, ref: s.FromPoolRef, name: s.IPAddressFromIPPool}
}

func gatewaySource(route *field.Path, s *infrav1.NetworkGatewaySource) source {
	return source{path: route.Child("gateway"), annotation: s.FromPoolAnnotation, ref: s.FromPoolRef, name: ptr.Deref(s.FromIPPool, "")}
}

func routesV4(network *field.Path, list []infrav1.NetworkDataRoutev4) []route {
	routes := make([]route, len(list))
	for i := range list {
		r, path := &list[i], network.Child("routes").Index(i)
		routes[i] = route{
			path: path, family: ipv4, network: string(r.Network), prefix: r.Prefix,
			gateway: string(ptr.Deref(r.Gateway.String, "")), gatewayPool: gatewaySource(path, &r.Gateway.NetworkGatewaySource),
			services: newNameServers(path.Child("services"), r.Services.DNS, r.Services.DNSFromIPPool),
		}
	}
	return routes
}

func routesV6(network *field.Path, list []infrav1.NetworkDataRoutev6) []route {
	routes := make([]route, len(list))
	for i := range list {
		r, path := &list[i], network.Child("routes").Index(i)
		routes[i] = route{
			path: path, family: ipv6, network: string(r.Network), prefix: r.Prefix,
			gateway: string(ptr.Deref(r.Gateway.String, "")), gatewayPool: gatewaySource(path, &r.Gateway.NetworkGatewaySource),
			services: newNameServers(path.Child("services"), r.Services.DNS, r.Services.DNSFromIPPool),
		}
	}
	return routes
}
