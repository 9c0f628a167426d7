// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion converts the vSphere kinds between v1beta1 and the hub, v1beta2.
//
// Each struct has one function per direction, whose names end in FromHub and ToHub. The latter additionally takes the preserved hub
// object, which is empty if nothing was preserved. A field that only the hub has is restored from it, provided that the value to
// which it belongs is unchanged: a thumbprint belongs to its server, a rule to its groups, an operation to its task.
package conversion

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

// Converters holds the converters of all kinds.
type Converters struct {
	Cluster, ClusterIdentity, ClusterTemplate, DeploymentZone, FailureDomain, Machine, MachineTemplate, VM conversion.Constructor
}

// New returns the converters of all kinds.
func New() Converters {
	return Converters{
		Cluster:         conversion.KeepingPair(clusterFromHub, clusterToHub),
		ClusterIdentity: conversion.KeepingPair(identityFromHub, identityToHub),
		ClusterTemplate: conversion.KeepingPair(clusterTemplateFromHub, clusterTemplateToHub),
		DeploymentZone:  conversion.KeepingPair(zoneFromHub, zoneToHub),
		FailureDomain:   conversion.KeepingPair(domainFromHub, domainToHub),
		Machine:         conversion.KeepingPair(machineFromHub, machineToHub),
		MachineTemplate: conversion.KeepingPair(machineTemplateFromHub, machineTemplateToHub),
		VM:              conversion.KeepingPair(vmFromHub, vmToHub),
	}
}

func clusterToHub(src *v1beta1.VSphereCluster, dst, kept *infrav1.VSphereCluster) {
	dst.Spec = clusterSpecToHub(src.Spec, kept.Spec)
	dst.Status = clusterStatusToHub(src.Status, kept.Status)
}

func clusterFromHub(src *infrav1.VSphereCluster, dst *v1beta1.VSphereCluster) {
	dst.Spec = clusterSpecFromHub(src.Spec)
	dst.Status = clusterStatusFromHub(src.Status)
}

func clusterTemplateToHub(src *v1beta1.VSphereClusterTemplate, dst, kept *infrav1.VSphereClusterTemplate) {
	dst.Spec.Template.ObjectMeta = kept.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecToHub(src.Spec.Template.Spec, kept.Spec.Template.Spec)
}

func clusterTemplateFromHub(src *infrav1.VSphereClusterTemplate, dst *v1beta1.VSphereClusterTemplate) {
	dst.Spec.Template.Spec = clusterSpecFromHub(src.Spec.Template.Spec)
}

func identityToHub(src *v1beta1.VSphereClusterIdentity, dst, kept *infrav1.VSphereClusterIdentity) {
	// Servers limit where credentials are sent, so they apply to changed credentials as well.
	dst.Spec = infrav1.VSphereClusterIdentitySpec{SecretName: src.Spec.SecretName, Servers: kept.Spec.Servers}
	if allowed := src.Spec.AllowedNamespaces; allowed != nil {
		dst.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{Selector: allowed.Selector}
	}
	dst.Status = infrav1.VSphereClusterIdentityStatus{
		Ready: src.Status.Ready, Conditions: conditionsToHub(src.Status.V1Beta2), Deprecated: deprecatedToHub(src.Status.Conditions),
	}
}

func identityFromHub(src *infrav1.VSphereClusterIdentity, dst *v1beta1.VSphereClusterIdentity) {
	dst.Spec.SecretName = src.Spec.SecretName
	if allowed := src.Spec.AllowedNamespaces; allowed != nil {
		dst.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{Selector: allowed.Selector}
	}
	dst.Status = v1beta1.VSphereClusterIdentityStatus{
		Ready: src.Status.Ready, V1Beta2: conditionsFromHub(src.Status.Conditions), Conditions: deprecatedFromHub(src.Status.Deprecated),
	}
}

func zoneToHub(src *v1beta1.VSphereDeploymentZone, dst, kept *infrav1.VSphereDeploymentZone) {
	dst.Spec = zoneSpecToHub(src.Spec, kept.Spec)
	dst.Status = zoneStatusToHub(src.Status, kept.Status)
}

func zoneFromHub(src *infrav1.VSphereDeploymentZone, dst *v1beta1.VSphereDeploymentZone) {
	dst.Spec = v1beta1.VSphereDeploymentZoneSpec{
		Server: src.Spec.Server, FailureDomain: src.Spec.FailureDomain, ControlPlane: src.Spec.ControlPlane,
		PlacementConstraint: v1beta1.PlacementConstraint(src.Spec.PlacementConstraint),
	}
	dst.Status = v1beta1.VSphereDeploymentZoneStatus{
		Ready: src.Status.Ready, V1Beta2: conditionsFromHub(src.Status.Conditions), Conditions: deprecatedFromHub(src.Status.Deprecated),
	}
}

func domainToHub(src *v1beta1.VSphereFailureDomain, dst, kept *infrav1.VSphereFailureDomain) {
	dst.Spec = infrav1.VSphereFailureDomainSpec{
		Region: infrav1.FailureDomain(src.Spec.Region), Zone: infrav1.FailureDomain(src.Spec.Zone), Topology: topologyToHub(src.Spec.Topology, kept.Spec.Topology),
		Drift: kept.Spec.Drift,
	}
}

func domainFromHub(src *infrav1.VSphereFailureDomain, dst *v1beta1.VSphereFailureDomain) {
	dst.Spec = v1beta1.VSphereFailureDomainSpec{
		Region: v1beta1.FailureDomain(src.Spec.Region), Zone: v1beta1.FailureDomain(src.Spec.Zone), Topology: topologyFromHub(src.Spec.Topology),
	}
}

func machineToHub(src *v1beta1.VSphereMachine, dst, kept *infrav1.VSphereMachine) {
	dst.Spec = machineSpecToHub(src.Spec, kept.Spec)
	dst.Status = machineStatusToHub(src.Status, kept.Status)
}

func machineFromHub(src *infrav1.VSphereMachine, dst *v1beta1.VSphereMachine) {
	dst.Spec = machineSpecFromHub(src.Spec)
	dst.Status = machineStatusFromHub(src.Status)
}

func machineTemplateToHub(src *v1beta1.VSphereMachineTemplate, dst, kept *infrav1.VSphereMachineTemplate) {
	dst.Spec.Template.ObjectMeta = clusterv1.ObjectMeta(src.Spec.Template.ObjectMeta)
	dst.Spec.Template.Spec = machineSpecToHub(src.Spec.Template.Spec, kept.Spec.Template.Spec)
	dst.Status = src.Status
}

func machineTemplateFromHub(src *infrav1.VSphereMachineTemplate, dst *v1beta1.VSphereMachineTemplate) {
	dst.Spec.Template.ObjectMeta = v1beta1.ObjectMeta(src.Spec.Template.ObjectMeta)
	dst.Spec.Template.Spec = machineSpecFromHub(src.Spec.Template.Spec)
	dst.Status = src.Status
}

func vmToHub(src *v1beta1.VSphereVM, dst, kept *infrav1.VSphereVM) {
	dst.Spec = vmSpecToHub(src.Spec, kept.Spec)
	dst.Status = vmStatusToHub(src.Status, kept.Status)
}

func vmFromHub(src *infrav1.VSphereVM, dst *v1beta1.VSphereVM) {
	dst.Spec = vmSpecFromHub(src.Spec, src.Namespace)
	dst.Status = vmStatusFromHub(src.Status)
}
