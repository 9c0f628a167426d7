// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"net"
	"net/netip"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/rules"
)

const (
	// Limits of the MTU for IPv4.
	minMTU = 68
	maxMTU = 65535

	// macBytes is the length of the MAC address of a network card.
	macBytes = 6
)

// validateNetwork validates a machine's network cards and routes.
func validateNetwork(spec infrav1.NetworkSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[string]bool{}
	for i, device := range spec.Devices {
		at := path.Child("devices").Index(i)
		errs = append(errs, validateDevice(device, at)...)
		mac := strings.ToLower(device.MACAddr)
		if mac != "" && seen[mac] {
			errs = append(errs, field.Duplicate(at.Child("macAddr"), device.MACAddr))
		}
		seen[mac] = true
	}
	return append(errs, validateRoutes(spec.Routes, path.Child("routes"))...)
}

// warnNetwork warns about network settings that are missing and must come from elsewhere.
func warnNetwork(spec infrav1.NetworkSpec, path *field.Path) admission.Warnings {
	var warnings admission.Warnings
	for i, device := range spec.Devices {
		at := path.Child("devices").Index(i)
		if device.NetworkName == "" {
			warnings = append(warnings, rules.Warning(at.Child("networkName"),
				"is not set: the machine can only be placed in failure domains that specify a network for this card"))
		}
		if len(device.AddressesFromPools) > 0 && ptr.Deref(device.SkipIPAllocation, false) {
			warnings = append(warnings, rules.Warning(at.Child("skipIPAllocation"), "has no effect together with addressesFromPools; remove one of the two"))
		}
		if !hasAddress(device) {
			warnings = append(warnings, rules.Warning(at,
				"has no source of addresses: unless its failure domain has one, the machine is not created until dhcp4, dhcp6, ipAddrs, addressesFromPools or skipIPAllocation is set"))
		}
	}
	return warnings
}

func hasAddress(device infrav1.NetworkDeviceSpec) bool {
	return len(device.IPAddrs) > 0 || len(device.AddressesFromPools) > 0 ||
		ptr.Deref(device.DHCP4, false) || ptr.Deref(device.DHCP6, false) || ptr.Deref(device.SkipIPAllocation, false)
}

func validateDevice(device infrav1.NetworkDeviceSpec, path *field.Path) field.ErrorList {
	errs := validatePools(device.AddressesFromPools, path.Child("addressesFromPools"))
	for i, address := range device.IPAddrs {
		if _, err := netip.ParsePrefix(address); err != nil {
			errs = append(errs, field.Invalid(path.Child("ipAddrs").Index(i), address,
				"must be an address with its prefix length, for example 10.0.0.10/24 or 2001:db8::10/64"))
		}
	}
	errs = append(errs, validateGateways(device, path)...)
	errs = append(errs, validateAddresses(device.Nameservers, path.Child("nameservers"))...)
	errs = append(errs, validateRoutes(device.Routes, path.Child("routes"))...)
	errs = append(errs, validateOverrides(device.DHCP4Overrides, path.Child("dhcp4Overrides"))...)
	errs = append(errs, validateOverrides(device.DHCP6Overrides, path.Child("dhcp6Overrides"))...)
	if mac, err := net.ParseMAC(device.MACAddr); device.MACAddr != "" && (err != nil || len(mac) != macBytes) {
		errs = append(errs, field.Invalid(path.Child("macAddr"), device.MACAddr,
			"must be six hexadecimal pairs, for example 00:50:56:00:00:01; remove it to have vCenter choose one"))
	}
	if mtu := device.MTU; mtu != nil && (*mtu < minMTU || *mtu > maxMTU) {
		errs = append(errs, field.Invalid(path.Child("mtu"), *mtu,
			"must be between 68 and 65535; remove it to use the guest's default"))
	}
	return errs
}

func validateGateways(device infrav1.NetworkDeviceSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if gateway := device.Gateway4; gateway != "" {
		if address, err := netip.ParseAddr(gateway); err != nil || !address.Is4() {
			errs = append(errs, field.Invalid(path.Child("gateway4"), gateway, "must be an IPv4 address without a prefix length; an IPv6 gateway belongs in gateway6"))
		}
	}
	if gateway := device.Gateway6; gateway != "" {
		if address, err := netip.ParseAddr(gateway); err != nil || !address.Is6() {
			errs = append(errs, field.Invalid(path.Child("gateway6"), gateway, "must be an IPv6 address without a prefix length; an IPv4 gateway belongs in gateway4"))
		}
	}
	return errs
}

func validateAddresses(addresses []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, address := range addresses {
		if _, err := netip.ParseAddr(address); err != nil {
			errs = append(errs, field.Invalid(path.Index(i), address, "must be an IPv4 or IPv6 address, without a prefix length"))
		}
	}
	return errs
}

func validateRoutes(routes []infrav1.NetworkRouteSpec, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, route := range routes {
		at := path.Index(i)
		to, ok := destination(route.To)
		if !ok {
			errs = append(errs, field.Invalid(at.Child("to"), route.To,
				"must be a network (for example 10.0.0.0/8), an address, or default"))
		}
		via, err := netip.ParseAddr(route.Via)
		if err != nil {
			errs = append(errs, field.Invalid(at.Child("via"), route.Via, "must be the address of a gateway, without a prefix length"))
			continue
		}
		if to.IsValid() && to.Is4() != via.Is4() {
			errs = append(errs, field.Invalid(at.Child("via"), route.Via, "must be of the same IP family as to"))
		}
	}
	return errs
}

// destination parses the destination of a route. For default the address is not valid, because it has no IP family.
func destination(to string) (netip.Addr, bool) {
	if to == "default" {
		return netip.Addr{}, true
	}
	if prefix, err := netip.ParsePrefix(to); err == nil {
		return prefix.Addr(), true
	}
	address, err := netip.ParseAddr(to)
	return address, err == nil
}

// validateOverrides validates the string values according to netplan.
func validateOverrides(overrides *infrav1.DHCPOverrides, path *field.Path) field.ErrorList {
	if overrides == nil {
		return nil
	}
	var errs field.ErrorList
	switch ptr.Deref(overrides.UseDomains, "true") {
	case "true", "false", "route":
	default:
		errs = append(errs, field.NotSupported(path.Child("useDomains"), *overrides.UseDomains, []string{"true", "false", "route"}))
	}
	switch ptr.Deref(overrides.UseRoutes, "true") {
	case "true", "false":
	default:
		errs = append(errs, field.NotSupported(path.Child("useRoutes"), *overrides.UseRoutes, []string{"true", "false"}))
	}
	return errs
}
