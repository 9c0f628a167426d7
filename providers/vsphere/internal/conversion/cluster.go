// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"maps"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func clusterSpecToHub(src v1beta1.VSphereClusterSpec, kept infrav1.VSphereClusterSpec) infrav1.VSphereClusterSpec {
	spec := infrav1.VSphereClusterSpec{
		Server: src.Server, Thumbprint: src.Thumbprint, ControlPlaneEndpoint: infrav1.APIEndpoint(src.ControlPlaneEndpoint),
		ClusterModules:        modulesToHub(src.ClusterModules, kept.ClusterModules),
		DisableClusterModule:  src.DisableClusterModule,
		FailureDomainSelector: src.FailureDomainSelector, Distribution: kept.Distribution, AdditionalServers: kept.AdditionalServers,
	}
	if src.IdentityRef != nil {
		spec.IdentityRef = infrav1.VSphereIdentityReference(*src.IdentityRef)
	}
	return spec
}

func clusterSpecFromHub(src infrav1.VSphereClusterSpec) v1beta1.VSphereClusterSpec {
	spec := v1beta1.VSphereClusterSpec{
		Server: src.Server, Thumbprint: src.Thumbprint, ControlPlaneEndpoint: v1beta1.APIEndpoint(src.ControlPlaneEndpoint),
		ClusterModules:        conversion.Each(src.ClusterModules, moduleFromHub),
		DisableClusterModule:  src.DisableClusterModule,
		FailureDomainSelector: src.FailureDomainSelector,
	}
	if src.IdentityRef.IsDefined() {
		ref := v1beta1.VSphereIdentityReference(src.IdentityRef)
		spec.IdentityRef = &ref
	}
	return spec
}

// modulesToHub restores the server of each module that is unchanged.
func modulesToHub(src []v1beta1.ClusterModule, kept []infrav1.ClusterModule) []infrav1.ClusterModule {
	kept = slices.Clone(kept)
	modules := conversion.Each(src, moduleToHub)
	for i := range modules {
		same := slices.IndexFunc(kept, func(module infrav1.ClusterModule) bool { return module.ModuleUUID == modules[i].ModuleUUID })
		if same >= 0 {
			modules[i].Server = kept[same].Server
			kept = slices.Delete(kept, same, same+1)
		}
	}
	return modules
}

func moduleToHub(src v1beta1.ClusterModule) infrav1.ClusterModule {
	return infrav1.ClusterModule{ControlPlane: &src.ControlPlane, TargetObjectName: src.TargetObjectName, ModuleUUID: src.ModuleUUID}
}

func moduleFromHub(src infrav1.ClusterModule) v1beta1.ClusterModule {
	return v1beta1.ClusterModule{ControlPlane: conversion.Value(src.ControlPlane), TargetObjectName: src.TargetObjectName, ModuleUUID: src.ModuleUUID}
}

func clusterStatusToHub(src v1beta1.VSphereClusterStatus, kept infrav1.VSphereClusterStatus) infrav1.VSphereClusterStatus {
	return infrav1.VSphereClusterStatus{
		Conditions:     conditionsToHub(src.V1Beta2),
		Initialization: infrav1.VSphereClusterInitializationStatus{Provisioned: src.Ready},
		FailureDomains: domainsToHub(src.FailureDomains), Distribution: kept.Distribution,
		VCenterVersion: src.VCenterVersion, Servers: kept.Servers, Deprecated: deprecatedToHub(src.Conditions),
	}
}

func clusterStatusFromHub(src infrav1.VSphereClusterStatus) v1beta1.VSphereClusterStatus {
	return v1beta1.VSphereClusterStatus{
		Ready: src.Initialization.Provisioned, Conditions: deprecatedFromHub(src.Deprecated),
		FailureDomains: domainsFromHub(src.FailureDomains), VCenterVersion: src.VCenterVersion,
		V1Beta2: conditionsFromHub(src.Conditions),
	}
}

// domainsToHub returns the domains sorted by name, as the cluster's controller does.
func domainsToHub(domains map[string]v1beta1.FailureDomainStatus) []clusterv1.FailureDomain {
	var converted []clusterv1.FailureDomain
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		domain := domains[name]
		converted = append(converted, clusterv1.FailureDomain{Name: name, ControlPlane: &domain.ControlPlane, Attributes: domain.Attributes})
	}
	return converted
}

func domainsFromHub(domains []clusterv1.FailureDomain) map[string]v1beta1.FailureDomainStatus {
	if len(domains) == 0 {
		return nil
	}
	converted := map[string]v1beta1.FailureDomainStatus{}
	for _, domain := range domains {
		converted[domain.Name] = v1beta1.FailureDomainStatus{ControlPlane: conversion.Value(domain.ControlPlane), Attributes: domain.Attributes}
	}
	return converted
}
