// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"cmp"

	"k8s.io/utils/ptr"

	ipamv1 "github.com/faultline-io/faultline/providers/metal3/api/ipam/v1alpha1"
	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func metaDataToHub(src *v1beta1.MetaData) *infrav1.MetaData {
	if src == nil {
		return nil
	}
	return &infrav1.MetaData{
		Strings: src.Strings, ObjectNames: src.ObjectNames, Indexes: conversion.Each(src.Indexes, indexToHub), Namespaces: src.Namespaces,
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
		Strings: src.Strings, ObjectNames: src.ObjectNames, Indexes: conversion.Each(src.Indexes, indexFromHub), Namespaces: src.Namespaces,
		IPAddressesFromPool: conversion.Each(src.IPAddressesFromPool, fromPoolFromHub),
		PrefixesFromPool:    conversion.Each(src.PrefixesFromPool, fromPoolFromHub),
		GatewaysFromPool:    conversion.Each(src.GatewaysFromPool, fromPoolFromHub),
		DNSServersFromPool:  conversion.Each(src.DNSServersFromPool, fromPoolFromHub),
		FromHostInterfaces:  src.FromHostInterfaces, FromLabels: src.FromLabels, FromAnnotations: src.FromAnnotations,
	}
}

func indexToHub(src v1beta1.MetaDataIndex) infrav1.MetaDataIndex {
	return infrav1.MetaDataIndex{
		Key: src.Key, Offset: ptr.Deref(src.Offset, 0), Step: src.Step, Prefix: src.Prefix, Suffix: src.Suffix,
	}
}

func indexFromHub(src infrav1.MetaDataIndex) v1beta1.MetaDataIndex {
	return v1beta1.MetaDataIndex{Key: src.Key, Offset: conversion.Pointer(src.Offset), Step: src.Step, Prefix: src.Prefix, Suffix: src.Suffix}
}

func fromPoolToHub(src v1beta1.FromPool) infrav1.FromPool {
	return infrav1.FromPool{Key: src.Key, IPPoolReference: complete(src.Name, src.Kind, src.APIGroup)}
}

// complete applies the CRD's defaults to a pool reference, so that writing it again without its kind is not a change.
func complete(name, kind, group string) infrav1.IPPoolReference {
	return infrav1.IPPoolReference{Name: name, Kind: cmp.Or(kind, "IPPool"), APIGroup: cmp.Or(group, ipamv1.GroupVersion.Group)}
}

func fromPoolFromHub(src infrav1.FromPool) v1beta1.FromPool {
	return v1beta1.FromPool{Key: src.Key, Name: src.Name, Kind: src.Kind, APIGroup: src.APIGroup}
}
