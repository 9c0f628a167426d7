// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// validateNetworkData validates network data.
func validateNetworkData(data infrav1.NetworkData, path *field.Path) field.ErrorList {
	errs := validateLinks(data.Links, path.Child("links"))
	errs = append(errs, validateNetworks(data.Networks, linkIDs(data.Links), path.Child("networks"))...)
	return append(errs, validateServers(data.Services.DNS, path.Child("services", "dns"))...)
}

// validateNetworks validates all kinds of networks.
func validateNetworks(networks infrav1.NetworkDataNetwork, links []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, network := range networks.IPv4 {
		at := path.Child("ipv4").Index(i)
		errs = append(errs, validateAddressSource(network.NetworkDataAddressSource, at)...)
		errs = append(errs, validateLinkID(network.Link, links, at.Child("link"))...)
		errs = append(errs, validateRoutes4(network.Routes, at.Child("routes"))...)
	}
	for i, network := range networks.IPv6 {
		at := path.Child("ipv6").Index(i)
		errs = append(errs, validateAddressSource(network.NetworkDataAddressSource, at)...)
		errs = append(errs, validateLinkID(network.Link, links, at.Child("link"))...)
		errs = append(errs, validateRoutes6(network.Routes, at.Child("routes"))...)
	}
	for i, network := range networks.IPv4DHCP {
		at := path.Child("ipv4DHCP").Index(i)
		errs = append(errs, validateLinkID(network.Link, links, at.Child("link"))...)
		errs = append(errs, validateRoutes4(network.Routes, at.Child("routes"))...)
	}
	errs = append(errs, validateAutomatic6(networks.IPv6DHCP, links, path.Child("ipv6DHCP"))...)
	return append(errs, validateAutomatic6(networks.IPv6SLAAC, links, path.Child("ipv6SLAAC"))...)
}

func validateAutomatic6(networks []infrav1.NetworkDataIPv6DHCP, links []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, network := range networks {
		errs = append(errs, validateLinkID(network.Link, links, path.Index(i).Child("link"))...)
		errs = append(errs, validateRoutes6(network.Routes, path.Index(i).Child("routes"))...)
	}
	return errs
}

// validateAddressSource requires a pool to claim the address from.
func validateAddressSource(source infrav1.NetworkDataAddressSource, path *field.Path) field.ErrorList {
	if annotation := source.FromPoolAnnotation; annotation != nil {
		return validateKey(annotation.Annotation, path.Child("fromPoolAnnotation", "annotation"))
	}
	if source.IPAddressFromIPPool == "" && source.FromPoolRef == nil {
		return field.ErrorList{field.Required(path.Child("fromPoolRef"),
			"must name the pool of the address, here, in ipAddressFromIPPool or in fromPoolAnnotation")}
	}
	return nil
}

func validateRoutes4(routes []infrav1.NetworkDataRoutev4, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, route := range routes {
		gateway := route.Gateway
		errs = append(errs, validateGateway(gateway.String != nil, gateway.NetworkGatewaySource, path.Index(i).Child("gateway"))...)
	}
	return errs
}

func validateRoutes6(routes []infrav1.NetworkDataRoutev6, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, route := range routes {
		gateway := route.Gateway
		errs = append(errs, validateGateway(gateway.String != nil, gateway.NetworkGatewaySource, path.Index(i).Child("gateway"))...)
	}
	return errs
}

// validateGateway requires an address, or a pool that provides one.
func validateGateway(hasAddress bool, source infrav1.NetworkGatewaySource, path *field.Path) field.ErrorList {
	if annotation := source.FromPoolAnnotation; annotation != nil {
		return validateKey(annotation.Annotation, path.Child("fromPoolAnnotation", "annotation"))
	}
	if !hasAddress && source.FromIPPool == nil && source.FromPoolRef == nil {
		return field.ErrorList{field.Required(path,
			"must set the address of the gateway in string, or a pool in fromIPPool, fromPoolRef or fromPoolAnnotation")}
	}
	return nil
}

// validateServers requires addresses of either IP family. The CRD validates addresses of a fixed family.
func validateServers(servers []ipamv1.IPAddressStr, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, server := range servers {
		if _, err := netip.ParseAddr(string(server)); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), server, "must be an IPv4 or IPv6 address, such as 10.0.0.2 or fd00::2"))
		}
	}
	return errs
}
