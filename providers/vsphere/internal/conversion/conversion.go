// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion converts the vSphere kinds between v1beta1 and v1beta2, the
// hub.
//
// Each struct of a version has a function that makes the other's, from hub and
// to hub. To hub takes beside it what was kept of the hub, empty when that is
// nothing. A field that only the hub has is taken from there, where what it
// belongs to is still the same: a thumbprint belongs to its server, a rule to its
// groups, an operation to its task.
package conversion

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrlconversion "sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/faultline-io/faultline/providers/vsphere/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/conversion"
)

// Cluster makes the converter of VSphereClusters.
func Cluster(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereCluster{}, &v1beta1.VSphereCluster{}, clusterFromHub, clusterToHub)(scheme)
}

// ClusterIdentity makes the converter of VSphereClusterIdentities.
func ClusterIdentity(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereClusterIdentity{}, &v1beta1.VSphereClusterIdentity{}, identityFromHub, identityToHub)(scheme)
}

// ClusterTemplate makes the converter of VSphereClusterTemplates.
func ClusterTemplate(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereClusterTemplate{}, &v1beta1.VSphereClusterTemplate{}, clusterTemplateFromHub, clusterTemplateToHub)(scheme)
}

// DeploymentZone makes the converter of VSphereDeploymentZones.
func DeploymentZone(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereDeploymentZone{}, &v1beta1.VSphereDeploymentZone{}, zoneFromHub, zoneToHub)(scheme)
}

// FailureDomain makes the converter of VSphereFailureDomains.
func FailureDomain(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereFailureDomain{}, &v1beta1.VSphereFailureDomain{}, domainFromHub, domainToHub)(scheme)
}

// Machine makes the converter of VSphereMachines.
func Machine(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereMachine{}, &v1beta1.VSphereMachine{}, machineFromHub, machineToHub)(scheme)
}

// MachineTemplate makes the converter of VSphereMachineTemplates.
func MachineTemplate(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereMachineTemplate{}, &v1beta1.VSphereMachineTemplate{}, machineTemplateFromHub, machineTemplateToHub)(scheme)
}

// VM makes the converter of VSphereVMs.
func VM(scheme *runtime.Scheme) (ctrlconversion.Converter, error) {
	return conversion.Pair(&infrav1.VSphereVM{}, &v1beta1.VSphereVM{}, vmFromHub, vmToHub)(scheme)
}

func clusterToHub(ctx context.Context, src *v1beta1.VSphereCluster, dst *infrav1.VSphereCluster) error {
	kept := conversion.Kept[infrav1.VSphereCluster](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = clusterSpecToHub(src.Spec, kept.Spec)
	dst.Status = clusterStatusToHub(src.Status, kept.Status)
	return nil
}

func clusterFromHub(_ context.Context, src *infrav1.VSphereCluster, dst *v1beta1.VSphereCluster) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = clusterSpecFromHub(src.Spec)
	dst.Status = clusterStatusFromHub(src.Status)
	return conversion.Keep(src, dst)
}

func clusterTemplateToHub(ctx context.Context, src *v1beta1.VSphereClusterTemplate, dst *infrav1.VSphereClusterTemplate) error {
	kept := conversion.Kept[infrav1.VSphereClusterTemplate](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = kept.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecToHub(src.Spec.Template.Spec, kept.Spec.Template.Spec)
	return nil
}

func clusterTemplateFromHub(_ context.Context, src *infrav1.VSphereClusterTemplate, dst *v1beta1.VSphereClusterTemplate) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecFromHub(src.Spec.Template.Spec)
	return conversion.Keep(src, dst)
}

func identityToHub(ctx context.Context, src *v1beta1.VSphereClusterIdentity, dst *infrav1.VSphereClusterIdentity) error {
	kept := conversion.Kept[infrav1.VSphereClusterIdentity](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	// Servers limit where credentials are sent: other credentials are not sent farther.
	dst.Spec = infrav1.VSphereClusterIdentitySpec{SecretName: src.Spec.SecretName, Servers: kept.Spec.Servers}
	if allowed := src.Spec.AllowedNamespaces; allowed != nil {
		dst.Spec.AllowedNamespaces = &infrav1.AllowedNamespaces{Selector: allowed.Selector}
	}
	dst.Status = infrav1.VSphereClusterIdentityStatus{
		Ready: src.Status.Ready, Conditions: conditionsToHub(src.Status.V1Beta2), Deprecated: deprecatedToHub(src.Status.Conditions),
	}
	return nil
}

func identityFromHub(_ context.Context, src *infrav1.VSphereClusterIdentity, dst *v1beta1.VSphereClusterIdentity) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.SecretName = src.Spec.SecretName
	if allowed := src.Spec.AllowedNamespaces; allowed != nil {
		dst.Spec.AllowedNamespaces = &v1beta1.AllowedNamespaces{Selector: allowed.Selector}
	}
	dst.Status = v1beta1.VSphereClusterIdentityStatus{
		Ready: src.Status.Ready, V1Beta2: conditionsFromHub(src.Status.Conditions), Conditions: deprecatedFromHub(src.Status.Deprecated),
	}
	return conversion.Keep(src, dst)
}

func zoneToHub(ctx context.Context, src *v1beta1.VSphereDeploymentZone, dst *infrav1.VSphereDeploymentZone) error {
	kept := conversion.Kept[infrav1.VSphereDeploymentZone](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = zoneSpecToHub(src.Spec, kept.Spec)
	dst.Status = zoneStatusToHub(src.Status, kept.Status)
	return nil
}

func zoneFromHub(_ context.Context, src *infrav1.VSphereDeploymentZone, dst *v1beta1.VSphereDeploymentZone) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = v1beta1.VSphereDeploymentZoneSpec{
		Server: src.Spec.Server, FailureDomain: src.Spec.FailureDomain, ControlPlane: src.Spec.ControlPlane,
		PlacementConstraint: v1beta1.PlacementConstraint(src.Spec.PlacementConstraint),
	}
	dst.Status = v1beta1.VSphereDeploymentZoneStatus{
		Ready: src.Status.Ready, V1Beta2: conditionsFromHub(src.Status.Conditions), Conditions: deprecatedFromHub(src.Status.Deprecated),
	}
	return conversion.Keep(src, dst)
}

func domainToHub(ctx context.Context, src *v1beta1.VSphereFailureDomain, dst *infrav1.VSphereFailureDomain) error {
	kept := conversion.Kept[infrav1.VSphereFailureDomain](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = infrav1.VSphereFailureDomainSpec{
		Region: tagToHub(src.Spec.Region), Zone: tagToHub(src.Spec.Zone), Topology: topologyToHub(src.Spec.Topology, kept.Spec.Topology),
		Drift: kept.Spec.Drift,
	}
	return nil
}

func domainFromHub(_ context.Context, src *infrav1.VSphereFailureDomain, dst *v1beta1.VSphereFailureDomain) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = v1beta1.VSphereFailureDomainSpec{
		Region: tagFromHub(src.Spec.Region), Zone: tagFromHub(src.Spec.Zone), Topology: topologyFromHub(src.Spec.Topology),
	}
	return conversion.Keep(src, dst)
}

func machineToHub(ctx context.Context, src *v1beta1.VSphereMachine, dst *infrav1.VSphereMachine) error {
	kept := conversion.Kept[infrav1.VSphereMachine](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = machineSpecToHub(src.Spec, kept.Spec)
	dst.Status = machineStatusToHub(src.Status, kept.Status)
	return nil
}

func machineFromHub(_ context.Context, src *infrav1.VSphereMachine, dst *v1beta1.VSphereMachine) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = machineSpecFromHub(src.Spec)
	dst.Status = machineStatusFromHub(src.Status)
	return conversion.Keep(src, dst)
}

func machineTemplateToHub(ctx context.Context, src *v1beta1.VSphereMachineTemplate, dst *infrav1.VSphereMachineTemplate) error {
	kept := conversion.Kept[infrav1.VSphereMachineTemplate](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = clusterv1.ObjectMeta(src.Spec.Template.ObjectMeta)
	dst.Spec.Template.Spec = machineSpecToHub(src.Spec.Template.Spec, kept.Spec.Template.Spec)
	return nil
}

func machineTemplateFromHub(_ context.Context, src *infrav1.VSphereMachineTemplate, dst *v1beta1.VSphereMachineTemplate) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = v1beta1.ObjectMeta(src.Spec.Template.ObjectMeta)
	dst.Spec.Template.Spec = machineSpecFromHub(src.Spec.Template.Spec)
	return conversion.Keep(src, dst)
}

func vmToHub(ctx context.Context, src *v1beta1.VSphereVM, dst *infrav1.VSphereVM) error {
	kept := conversion.Kept[infrav1.VSphereVM](ctx, src)
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = vmSpecToHub(src.Spec, kept.Spec)
	dst.Status = vmStatusToHub(src.Status, kept.Status)
	return nil
}

func vmFromHub(_ context.Context, src *infrav1.VSphereVM, dst *v1beta1.VSphereVM) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = vmSpecFromHub(src.Spec, src.Namespace)
	dst.Status = vmStatusFromHub(src.Status)
	return conversion.Keep(src, dst)
}
