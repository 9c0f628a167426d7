// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"reflect"

	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

func zoneSpecToHub(src v1beta1.VSphereDeploymentZoneSpec, kept infrav1.VSphereDeploymentZoneSpec) infrav1.VSphereDeploymentZoneSpec {
	spec := infrav1.VSphereDeploymentZoneSpec{
		Server: src.Server, FailureDomain: src.FailureDomain, ControlPlane: src.ControlPlane,
		PlacementConstraint: infrav1.PlacementConstraint(src.PlacementConstraint),
	}
	if src.Server == kept.Server {
		spec.Thumbprint, spec.IdentityRef = kept.Thumbprint, kept.IdentityRef
	}
	return spec
}

func zoneStatusToHub(src v1beta1.VSphereDeploymentZoneStatus, kept infrav1.VSphereDeploymentZoneStatus) infrav1.VSphereDeploymentZoneStatus {
	status := infrav1.VSphereDeploymentZoneStatus{
		Conditions: conditionsToHub(src.V1Beta2), Ready: src.Ready, Deprecated: deprecatedToHub(src.Conditions),
		CheckedBy: kept.CheckedBy, StaleSince: kept.StaleSince, Configured: kept.Configured,
	}
	if ptr.Equal(src.Ready, kept.Ready) {
		status.ObservedGeneration, status.FailureDomainGeneration, status.CheckedAt = kept.ObservedGeneration, kept.FailureDomainGeneration, kept.CheckedAt
	}
	return status
}

func topologyToHub(src v1beta1.Topology, kept infrav1.Topology) infrav1.Topology {
	topology := infrav1.Topology{
		Datacenter: src.Datacenter, ComputeCluster: conversion.Value(src.ComputeCluster), Networks: src.Networks,
		NetworkConfigurations: conversion.Each(src.NetworkConfigurations, configurationToHub), Datastore: src.Datastore,
	}
	if src.Hosts != nil {
		topology.Hosts = infrav1.FailureDomainHosts{
			VMGroupName: src.Hosts.VMGroupName, HostGroupName: src.Hosts.HostGroupName, AutoConfigure: src.Hosts.AutoConfigure,
		}
		if src.Hosts.VMGroupName == kept.Hosts.VMGroupName && src.Hosts.HostGroupName == kept.Hosts.HostGroupName {
			topology.Hosts.Rule = kept.Hosts.Rule
			topology.Hosts.HostNames, topology.Hosts.HostTag = kept.Hosts.HostNames, kept.Hosts.HostTag
		}
	}
	if src.Datacenter == kept.Datacenter {
		topology.Template = kept.Template
	}
	return topology
}

func topologyFromHub(src infrav1.Topology) v1beta1.Topology {
	topology := v1beta1.Topology{
		Datacenter: src.Datacenter, ComputeCluster: conversion.Pointer(src.ComputeCluster), Networks: src.Networks,
		NetworkConfigurations: conversion.Each(src.NetworkConfigurations, configurationFromHub), Datastore: src.Datastore,
	}
	if !reflect.ValueOf(src.Hosts).IsZero() {
		topology.Hosts = &v1beta1.FailureDomainHosts{
			VMGroupName: src.Hosts.VMGroupName, HostGroupName: src.Hosts.HostGroupName, AutoConfigure: src.Hosts.AutoConfigure,
		}
	}
	return topology
}

func configurationToHub(src v1beta1.NetworkConfiguration) infrav1.NetworkConfiguration {
	return infrav1.NetworkConfiguration{
		NetworkName: src.NetworkName, DHCP4: src.DHCP4, DHCP6: src.DHCP6, Nameservers: src.Nameservers, SearchDomains: src.SearchDomains,
		DHCP4Overrides: overridesToHub(src.DHCP4Overrides), DHCP6Overrides: overridesToHub(src.DHCP6Overrides),
		AddressesFromPools: conversion.Each(src.AddressesFromPools, poolToHub),
	}
}

func configurationFromHub(src infrav1.NetworkConfiguration) v1beta1.NetworkConfiguration {
	return v1beta1.NetworkConfiguration{
		NetworkName: src.NetworkName, DHCP4: src.DHCP4, DHCP6: src.DHCP6, Nameservers: src.Nameservers, SearchDomains: src.SearchDomains,
		DHCP4Overrides: overridesFromHub(src.DHCP4Overrides), DHCP6Overrides: overridesFromHub(src.DHCP6Overrides),
		AddressesFromPools: conversion.Each(src.AddressesFromPools, poolFromHub),
	}
}
