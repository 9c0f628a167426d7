// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"math"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func networkToHub(src v1beta1.NetworkSpec) infrav1.NetworkSpec {
	return infrav1.NetworkSpec{
		Devices: conversion.Each(src.Devices, deviceToHub), Routes: conversion.Each(src.Routes, routeToHub),
	}
}

// networkFromHub never returns nil devices, because v1beta1 requires the list.
func networkFromHub(src infrav1.NetworkSpec) v1beta1.NetworkSpec {
	network := v1beta1.NetworkSpec{Devices: conversion.Each(src.Devices, deviceFromHub), Routes: conversion.Each(src.Routes, routeFromHub)}
	if network.Devices == nil {
		network.Devices = []v1beta1.NetworkDeviceSpec{}
	}
	return network
}

func deviceToHub(src v1beta1.NetworkDeviceSpec) infrav1.NetworkDeviceSpec {
	return infrav1.NetworkDeviceSpec{
		NetworkName: src.NetworkName, DeviceName: src.DeviceName,
		DHCP4: src.DHCP4, DHCP6: src.DHCP6,
		Gateway4: src.Gateway4, Gateway6: src.Gateway6, IPAddrs: src.IPAddrs, MTU: src.MTU, MACAddr: src.MACAddr,
		Nameservers: src.Nameservers, Routes: conversion.Each(src.Routes, routeToHub), SearchDomains: src.SearchDomains,
		AddressesFromPools: conversion.Each(src.AddressesFromPools, poolToHub),
		DHCP4Overrides:     overridesToHub(src.DHCP4Overrides), DHCP6Overrides: overridesToHub(src.DHCP6Overrides),
		SkipIPAllocation: src.SkipIPAllocation,
	}
}

func deviceFromHub(src infrav1.NetworkDeviceSpec) v1beta1.NetworkDeviceSpec {
	return v1beta1.NetworkDeviceSpec{
		NetworkName: src.NetworkName, DeviceName: src.DeviceName, DHCP4: src.DHCP4, DHCP6: src.DHCP6,
		Gateway4: src.Gateway4, Gateway6: src.Gateway6, IPAddrs: src.IPAddrs, MTU: src.MTU, MACAddr: src.MACAddr,
		Nameservers: src.Nameservers, Routes: conversion.Each(src.Routes, routeFromHub), SearchDomains: src.SearchDomains,
		AddressesFromPools: conversion.Each(src.AddressesFromPools, poolFromHub),
		DHCP4Overrides:     overridesFromHub(src.DHCP4Overrides), DHCP6Overrides: overridesFromHub(src.DHCP6Overrides),
		SkipIPAllocation: src.SkipIPAllocation,
	}
}

func routeToHub(src v1beta1.NetworkRouteSpec) infrav1.NetworkRouteSpec {
	return infrav1.NetworkRouteSpec{To: src.To, Via: src.Via, Metric: &src.Metric}
}

func routeFromHub(src infrav1.NetworkRouteSpec) v1beta1.NetworkRouteSpec {
	return v1beta1.NetworkRouteSpec{To: src.To, Via: src.Via, Metric: conversion.Value(src.Metric)}
}

func poolToHub(src corev1.TypedLocalObjectReference) infrav1.IPPoolReference {
	return infrav1.IPPoolReference{Name: src.Name, Kind: src.Kind, APIGroup: conversion.Value(src.APIGroup)}
}

func poolFromHub(src infrav1.IPPoolReference) corev1.TypedLocalObjectReference {
	return corev1.TypedLocalObjectReference{Name: src.Name, Kind: src.Kind, APIGroup: conversion.Pointer(src.APIGroup)}
}

func overridesToHub(src *v1beta1.DHCPOverrides) *infrav1.DHCPOverrides {
	if src == nil {
		return nil
	}
	overrides := &infrav1.DHCPOverrides{
		Hostname: src.Hostname, SendHostname: src.SendHostname, UseDNS: src.UseDNS, UseDomains: src.UseDomains,
		UseHostname: src.UseHostname, UseMTU: src.UseMTU, UseNTP: src.UseNTP, UseRoutes: src.UseRoutes,
	}
	if metric := src.RouteMetric; metric != nil {
		overrides.RouteMetric = ptr.To(int32(min(max(*metric, math.MinInt32), math.MaxInt32)))
	}
	return overrides
}

func overridesFromHub(src *infrav1.DHCPOverrides) *v1beta1.DHCPOverrides {
	if src == nil {
		return nil
	}
	overrides := &v1beta1.DHCPOverrides{
		Hostname: src.Hostname, SendHostname: src.SendHostname, UseDNS: src.UseDNS, UseDomains: src.UseDomains,
		UseHostname: src.UseHostname, UseMTU: src.UseMTU, UseNTP: src.UseNTP, UseRoutes: src.UseRoutes,
	}
	if metric := src.RouteMetric; metric != nil {
		overrides.RouteMetric = ptr.To(int(*metric))
	}
	return overrides
}

func networkStatusToHub(src v1beta1.NetworkStatus) infrav1.NetworkStatus {
	return infrav1.NetworkStatus(src)
}

func networkStatusFromHub(src infrav1.NetworkStatus) v1beta1.NetworkStatus {
	return v1beta1.NetworkStatus(src)
}
