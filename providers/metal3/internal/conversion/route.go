// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func routev4ToHub(src v1beta1.NetworkDataRoutev4) infrav1.NetworkDataRoutev4 {
	return infrav1.NetworkDataRoutev4{
		Network: src.Network, Prefix: ptr.Deref(src.Prefix, 0), Services: infrav1.NetworkDataServicev4(src.Services),
		Gateway: infrav1.NetworkGatewayv4{
			String: src.Gateway.String, NetworkGatewaySource: gatewayToHub(src.Gateway.FromIPPool, src.Gateway.FromPoolRef, src.Gateway.FromPoolAnnotation),
		},
	}
}

func routev4FromHub(src infrav1.NetworkDataRoutev4) v1beta1.NetworkDataRoutev4 {
	return v1beta1.NetworkDataRoutev4{
		Network: src.Network, Prefix: conversion.Pointer(src.Prefix), Services: v1beta1.NetworkDataServicev4(src.Services),
		Gateway: v1beta1.NetworkGatewayv4{
			String: src.Gateway.String, FromIPPool: src.Gateway.FromIPPool,
			FromPoolRef: poolFromHub(src.Gateway.FromPoolRef), FromPoolAnnotation: src.Gateway.FromPoolAnnotation,
		},
	}
}

func routev6ToHub(src v1beta1.NetworkDataRoutev6) infrav1.NetworkDataRoutev6 {
	return infrav1.NetworkDataRoutev6{
		Network: src.Network, Prefix: ptr.Deref(src.Prefix, 0), Services: infrav1.NetworkDataServicev6(src.Services),
		Gateway: infrav1.NetworkGatewayv6{
			String: src.Gateway.String, NetworkGatewaySource: gatewayToHub(src.Gateway.FromIPPool, src.Gateway.FromPoolRef, src.Gateway.FromPoolAnnotation),
		},
	}
}

func routev6FromHub(src infrav1.NetworkDataRoutev6) v1beta1.NetworkDataRoutev6 {
	return v1beta1.NetworkDataRoutev6{
		Network: src.Network, Prefix: conversion.Pointer(src.Prefix), Services: v1beta1.NetworkDataServicev6(src.Services),
		Gateway: v1beta1.NetworkGatewayv6{
			String: src.Gateway.String, FromIPPool: src.Gateway.FromIPPool,
			FromPoolRef: poolFromHub(src.Gateway.FromPoolRef), FromPoolAnnotation: src.Gateway.FromPoolAnnotation,
		},
	}
}

func gatewayToHub(pool *string, ref *v1beta1.PoolReference, annotation *infrav1.FromPoolAnnotation) infrav1.NetworkGatewaySource {
	return infrav1.NetworkGatewaySource{FromIPPool: pool, FromPoolRef: poolToHub(ref), FromPoolAnnotation: annotation}
}

func poolToHub(src *v1beta1.PoolReference) *infrav1.IPPoolReference {
	if src == nil {
		return nil
	}
	return ptr.To(complete(src.Name, src.Kind, ptr.Deref(src.APIGroup, "")))
}

func poolFromHub(src *infrav1.IPPoolReference) *v1beta1.PoolReference {
	if src == nil {
		return nil
	}
	return &v1beta1.PoolReference{Name: src.Name, Kind: src.Kind, APIGroup: conversion.Pointer(src.APIGroup)}
}
