// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"maps"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func networkDataToHub(src *v1beta1.NetworkData) *infrav1.NetworkData {
	if src == nil {
		return nil
	}
	return &infrav1.NetworkData{
		Links: infrav1.NetworkDataLink{
			Ethernets: src.Links.Ethernets, Bonds: conversion.Each(src.Links.Bonds, bondToHub), Vlans: src.Links.Vlans,
		},
		Networks: infrav1.NetworkDataNetwork{
			IPv4:      conversion.Each(src.Networks.IPv4, ipv4ToHub),
			IPv6:      conversion.Each(src.Networks.IPv6, ipv6ToHub),
			IPv4DHCP:  conversion.Each(src.Networks.IPv4DHCP, ipv4DHCPToHub),
			IPv6DHCP:  conversion.Each(src.Networks.IPv6DHCP, ipv6DHCPToHub),
			IPv6SLAAC: conversion.Each(src.Networks.IPv6SLAAC, ipv6DHCPToHub),
		},
		Services: infrav1.NetworkDataService(src.Services),
	}
}

func networkDataFromHub(src *infrav1.NetworkData) *v1beta1.NetworkData {
	if src == nil {
		return nil
	}
	return &v1beta1.NetworkData{
		Links: v1beta1.NetworkDataLink{
			Ethernets: src.Links.Ethernets, Bonds: conversion.Each(src.Links.Bonds, bondFromHub), Vlans: src.Links.Vlans,
		},
		Networks: v1beta1.NetworkDataNetwork{
			IPv4:      conversion.Each(src.Networks.IPv4, ipv4FromHub),
			IPv6:      conversion.Each(src.Networks.IPv6, ipv6FromHub),
			IPv4DHCP:  conversion.Each(src.Networks.IPv4DHCP, ipv4DHCPFromHub),
			IPv6DHCP:  conversion.Each(src.Networks.IPv6DHCP, ipv6DHCPFromHub),
			IPv6SLAAC: conversion.Each(src.Networks.IPv6SLAAC, ipv6DHCPFromHub),
		},
		Services: v1beta1.NetworkDataService(src.Services),
	}
}

// bondToHub sorts the parameters, so that the result is deterministic.
func bondToHub(src v1beta1.NetworkDataLinkBond) infrav1.NetworkDataLinkBond {
	dst := infrav1.NetworkDataLinkBond{
		NetworkDataLinkCommon: src.NetworkDataLinkCommon, BondMode: src.BondMode, BondXmitHashPolicy: src.BondXmitHashPolicy,
		MACAddress: src.MACAddress, BondLinks: src.BondLinks,
	}
	for _, name := range slices.Sorted(maps.Keys(src.Parameters)) {
		dst.Parameters = append(dst.Parameters, infrav1.NetworkDataLinkParameter{Name: name, Value: src.Parameters[name]})
	}
	return dst
}

func bondFromHub(src infrav1.NetworkDataLinkBond) v1beta1.NetworkDataLinkBond {
	dst := v1beta1.NetworkDataLinkBond{
		NetworkDataLinkCommon: src.NetworkDataLinkCommon, BondMode: src.BondMode, BondXmitHashPolicy: src.BondXmitHashPolicy,
		MACAddress: src.MACAddress, BondLinks: src.BondLinks,
	}
	if len(src.Parameters) > 0 {
		dst.Parameters = map[string]apiextensionsv1.JSON{}
	}
	for _, parameter := range src.Parameters {
		dst.Parameters[parameter.Name] = parameter.Value
	}
	return dst
}

func ipv4ToHub(src v1beta1.NetworkDataIPv4) infrav1.NetworkDataIPv4 {
	return infrav1.NetworkDataIPv4{
		ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev4ToHub),
		NetworkDataAddressSource: infrav1.NetworkDataAddressSource{
			IPAddressFromIPPool: src.IPAddressFromIPPool, FromPoolRef: poolToHub(src.FromPoolRef), FromPoolAnnotation: src.FromPoolAnnotation,
		},
	}
}

func ipv4FromHub(src infrav1.NetworkDataIPv4) v1beta1.NetworkDataIPv4 {
	return v1beta1.NetworkDataIPv4{
		ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev4FromHub),
		IPAddressFromIPPool: src.IPAddressFromIPPool, FromPoolRef: poolFromHub(src.FromPoolRef), FromPoolAnnotation: src.FromPoolAnnotation,
	}
}

func ipv6ToHub(src v1beta1.NetworkDataIPv6) infrav1.NetworkDataIPv6 {
	return infrav1.NetworkDataIPv6{
		ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev6ToHub),
		NetworkDataAddressSource: infrav1.NetworkDataAddressSource{
			IPAddressFromIPPool: src.IPAddressFromIPPool, FromPoolRef: poolToHub(src.FromPoolRef), FromPoolAnnotation: src.FromPoolAnnotation,
		},
	}
}

func ipv6FromHub(src infrav1.NetworkDataIPv6) v1beta1.NetworkDataIPv6 {
	return v1beta1.NetworkDataIPv6{
		ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev6FromHub),
		IPAddressFromIPPool: src.IPAddressFromIPPool, FromPoolRef: poolFromHub(src.FromPoolRef), FromPoolAnnotation: src.FromPoolAnnotation,
	}
}

func ipv4DHCPToHub(src v1beta1.NetworkDataIPv4DHCP) infrav1.NetworkDataIPv4DHCP {
	return infrav1.NetworkDataIPv4DHCP{ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev4ToHub)}
}

func ipv4DHCPFromHub(src infrav1.NetworkDataIPv4DHCP) v1beta1.NetworkDataIPv4DHCP {
	return v1beta1.NetworkDataIPv4DHCP{ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev4FromHub)}
}

func ipv6DHCPToHub(src v1beta1.NetworkDataIPv6DHCP) infrav1.NetworkDataIPv6DHCP {
	return infrav1.NetworkDataIPv6DHCP{ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev6ToHub)}
}

func ipv6DHCPFromHub(src infrav1.NetworkDataIPv6DHCP) v1beta1.NetworkDataIPv6DHCP {
	return v1beta1.NetworkDataIPv6DHCP{ID: src.ID, Link: src.Link, Routes: conversion.Each(src.Routes, routev6FromHub)}
}
