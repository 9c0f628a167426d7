// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func metaDataToHub(src *v1beta1.MetaData) *infrav1.MetaData {
	if src == nil {
		return nil
	}
	return &infrav1.MetaData{
		Strings: src.Strings, ObjectNames: src.ObjectNames, Indexes: src.Indexes, Namespaces: src.Namespaces,
		IPAddressesFromPool: conversion.Each(src.IPAddressesFromPool, fromPoolToHub),
		PrefixesFromPool:    conversion.Each(src.PrefixesFromPool, fromPoolToHub),
		GatewaysFromPool:    conversion.Each(src.GatewaysFromPool, fromPoolToHub),
		DNSServersFromPool:  conversion.Each(src.DNSServersFromPool, fromPoolToHub),
		FromHostInterfaces:  src.FromHostInterfaces, FromLabels: src.FromLabels, FromAnnotations: src.FromAnnotations,
	}
}

func metaDataFromHub(src *infrav1.MetaData) *v1beta1.MetaData {
	if src == nil {
		return nil
	}
	return &v1beta1.MetaData{
		Strings: src.Strings, ObjectNames: src.ObjectNames, Indexes: src.Indexes, Namespaces: src.Namespaces,
		IPAddressesFromPool: conversion.Each(src.IPAddressesFromPool, fromPoolFromHub),
		PrefixesFromPool:    conversion.Each(src.PrefixesFromPool, fromPoolFromHub),
		GatewaysFromPool:    conversion.Each(src.GatewaysFromPool, fromPoolFromHub),
		DNSServersFromPool:  conversion.Each(src.DNSServersFromPool, fromPoolFromHub),
		FromHostInterfaces:  src.FromHostInterfaces, FromLabels: src.FromLabels, FromAnnotations: src.FromAnnotations,
	}
}

func fromPoolToHub(src v1beta1.FromPool) infrav1.FromPool {
	return infrav1.FromPool{Key: src.Key, IPPoolReference: infrav1.IPPoolReference{Name: src.Name, Kind: src.Kind, APIGroup: src.APIGroup}}
}

func fromPoolFromHub(src infrav1.FromPool) v1beta1.FromPool {
	return v1beta1.FromPool{Key: src.Key, Name: src.Name, Kind: src.Kind, APIGroup: src.APIGroup}
}
