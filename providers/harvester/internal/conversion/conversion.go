// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package conversion converts the Harvester kinds between v1alpha1 and v1beta1,
// the hub. What only the hub has is kept meanwhile in an annotation, as Cluster
// API does it; what only v1alpha1 has is kept in the hub's deprecated status.
//
// Where the specs of both versions are the same, they are converted as a whole:
// a field more in one of them does not compile.
package conversion

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// Constructor makes the converter of a kind.
type Constructor func(*runtime.Scheme) (conversion.Converter, error)

// Cluster converts HarvesterClusters.
func Cluster() Constructor {
	return pair(&infrav1.HarvesterCluster{}, &v1alpha1.HarvesterCluster{}, clusterFromHub, clusterToHub)
}

// ClusterTemplate converts HarvesterClusterTemplates.
func ClusterTemplate() Constructor {
	return pair(&infrav1.HarvesterClusterTemplate{}, &v1alpha1.HarvesterClusterTemplate{}, clusterTemplateFromHub, clusterTemplateToHub)
}

// Machine converts HarvesterMachines.
func Machine() Constructor {
	return pair(&infrav1.HarvesterMachine{}, &v1alpha1.HarvesterMachine{}, machineFromHub, machineToHub)
}

// MachineTemplate converts HarvesterMachineTemplates.
func MachineTemplate() Constructor {
	return pair(&infrav1.HarvesterMachineTemplate{}, &v1alpha1.HarvesterMachineTemplate{}, machineTemplateFromHub, machineTemplateToHub)
}

func pair[hub, spoke client.Object](h hub, s spoke, fromHub func(context.Context, hub, spoke) error, toHub func(context.Context, spoke, hub) error) Constructor {
	return conversion.NewHubSpokeConverter(h, conversion.NewSpokeConverter(s, fromHub, toHub))
}

func clusterToHub(_ context.Context, src *v1alpha1.HarvesterCluster, dst *infrav1.HarvesterCluster) error {
	restored := &infrav1.HarvesterCluster{}
	if err := restore(src, restored); err != nil {
		return err
	}
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = clusterSpecToHub(src.Spec, restored.Spec)
	dst.Status = infrav1.HarvesterClusterStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Initialization: src.Status.Initialization,
		FailureDomains: src.Status.FailureDomains, Distribution: restored.Status.Distribution,
		Deprecated: deprecated(src.Status.FailureReason, src.Status.FailureMessage),
	}
	return nil
}

func clusterFromHub(_ context.Context, src *infrav1.HarvesterCluster, dst *v1alpha1.HarvesterCluster) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = clusterSpecFromHub(src.Spec)
	dst.Status = v1alpha1.HarvesterClusterStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Initialization: src.Status.Initialization,
		FailureDomains: src.Status.FailureDomains,
	}
	dst.Status.FailureReason, dst.Status.FailureMessage = failure(src.Status.Deprecated)
	return keep(src, dst)
}

func clusterTemplateToHub(_ context.Context, src *v1alpha1.HarvesterClusterTemplate, dst *infrav1.HarvesterClusterTemplate) error {
	restored := &infrav1.HarvesterClusterTemplate{}
	if err := restore(src, restored); err != nil {
		return err
	}
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecToHub(src.Spec.Template.Spec, restored.Spec.Template.Spec)
	return nil
}

func clusterTemplateFromHub(_ context.Context, src *infrav1.HarvesterClusterTemplate, dst *v1alpha1.HarvesterClusterTemplate) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecFromHub(src.Spec.Template.Spec)
	return keep(src, dst)
}

// clusterSpecToHub takes what v1alpha1 does not have from what was kept.
func clusterSpecToHub(src v1alpha1.HarvesterClusterSpec, restored infrav1.HarvesterClusterSpec) infrav1.HarvesterClusterSpec {
	return infrav1.HarvesterClusterSpec{
		Server: src.Server, IdentitySecret: src.IdentitySecret, LoadBalancerConfig: src.LoadBalancerConfig,
		ControlPlaneEndpoint: src.ControlPlaneEndpoint, TargetNamespace: src.TargetNamespace,
		UpdateCloudProviderConfig: src.UpdateCloudProviderConfig, VMNetworkConfig: src.VMNetworkConfig,
		FailureDomains: restored.FailureDomains, FailureDomainTopologyKey: restored.FailureDomainTopologyKey, Distribution: restored.Distribution,
	}
}

func clusterSpecFromHub(src infrav1.HarvesterClusterSpec) v1alpha1.HarvesterClusterSpec {
	return v1alpha1.HarvesterClusterSpec{
		Server: src.Server, IdentitySecret: src.IdentitySecret, LoadBalancerConfig: src.LoadBalancerConfig,
		ControlPlaneEndpoint: src.ControlPlaneEndpoint, TargetNamespace: src.TargetNamespace,
		UpdateCloudProviderConfig: src.UpdateCloudProviderConfig, VMNetworkConfig: src.VMNetworkConfig,
	}
}

func machineToHub(_ context.Context, src *v1alpha1.HarvesterMachine, dst *infrav1.HarvesterMachine) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = infrav1.HarvesterMachineSpec(src.Spec)
	dst.Status = infrav1.HarvesterMachineStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Addresses: src.Status.Addresses, Initialization: src.Status.Initialization,
		AllocatedIPAddress: src.Status.AllocatedIPAddress, AllocatedPoolRef: src.Status.AllocatedPoolRef, FailureDomain: src.Status.FailureDomain,
		Deprecated: deprecated(src.Status.FailureReason, src.Status.FailureMessage),
	}
	return nil
}

func machineFromHub(_ context.Context, src *infrav1.HarvesterMachine, dst *v1alpha1.HarvesterMachine) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec = v1alpha1.HarvesterMachineSpec(src.Spec)
	dst.Status = v1alpha1.HarvesterMachineStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Addresses: src.Status.Addresses, Initialization: src.Status.Initialization,
		AllocatedIPAddress: src.Status.AllocatedIPAddress, AllocatedPoolRef: src.Status.AllocatedPoolRef, FailureDomain: src.Status.FailureDomain,
	}
	dst.Status.FailureReason, dst.Status.FailureMessage = failure(src.Status.Deprecated)
	return nil
}

func machineTemplateToHub(_ context.Context, src *v1alpha1.HarvesterMachineTemplate, dst *infrav1.HarvesterMachineTemplate) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = infrav1.HarvesterMachineSpec(src.Spec.Template.Spec)
	return nil
}

func machineTemplateFromHub(_ context.Context, src *infrav1.HarvesterMachineTemplate, dst *v1alpha1.HarvesterMachineTemplate) error {
	dst.ObjectMeta = src.ObjectMeta
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = v1alpha1.HarvesterMachineSpec(src.Spec.Template.Spec)
	return nil
}

// deprecated returns what only v1alpha1 has, nil when that is nothing.
func deprecated(reason, message string) *infrav1.DeprecatedStatus {
	if reason == "" && message == "" {
		return nil
	}
	return &infrav1.DeprecatedStatus{V1Alpha1: &infrav1.V1Alpha1DeprecatedStatus{FailureReason: reason, FailureMessage: message}}
}

func failure(status *infrav1.DeprecatedStatus) (reason, message string) {
	if status == nil || status.V1Alpha1 == nil {
		return "", ""
	}
	return status.V1Alpha1.FailureReason, status.V1Alpha1.FailureMessage
}

// keep has the annotation of dst hold src, whose metadata it empties.
func keep(src, dst client.Object) error {
	if err := utilconversion.MarshalDataUnsafeNoCopy(src, dst); err != nil {
		return fmt.Errorf("keeping what v1alpha1 does not have: %w", err)
	}
	return nil
}

// restore reads into dst what the annotation of src holds, and removes it.
func restore(src, dst client.Object) error {
	if _, err := utilconversion.UnmarshalData(src, dst); err != nil {
		return fmt.Errorf("reading what v1alpha1 does not have: %w", err)
	}
	return nil
}
