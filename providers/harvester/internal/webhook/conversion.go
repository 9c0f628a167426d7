// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"github.com/faultline-io/faultline/providers/harvester/api/v1alpha1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

// The kinds are converted between v1alpha1 and v1beta1, the hub. An annotation keeps fields that only the hub has: see
// conversion.Lossless. The hub's deprecated status keeps fields that only v1alpha1 has. Specs that are the same in both versions
// are converted by a type conversion, which does not compile if one of them gets an additional field.

// v1alpha1Annotation on an infrastructure object would hold fields that only v1alpha1 has. It stays unused because the hub has a field for
// each.
const v1alpha1Annotation = "conversion.infrastructure.cluster.x-k8s.io/v1alpha1"

func clusterToHub(src *v1alpha1.HarvesterCluster, dst *infrav1.HarvesterCluster) {
	dst.Spec = clusterSpecToHub(src.Spec)
	dst.Status = infrav1.HarvesterClusterStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Initialization: src.Status.Initialization,
		FailureDomains: src.Status.FailureDomains,
		Deprecated:     deprecatedStatus(src.Status.FailureReason, src.Status.FailureMessage),
	}
}

func clusterFromHub(src *infrav1.HarvesterCluster, dst *v1alpha1.HarvesterCluster) {
	dst.Spec = clusterSpecFromHub(src.Spec)
	dst.Status = v1alpha1.HarvesterClusterStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Initialization: src.Status.Initialization,
		FailureDomains: src.Status.FailureDomains,
	}
	dst.Status.FailureReason, dst.Status.FailureMessage = failure(src.Status.Deprecated)
}

func clusterTemplateToHub(src *v1alpha1.HarvesterClusterTemplate, dst *infrav1.HarvesterClusterTemplate) {
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecToHub(src.Spec.Template.Spec)
}

func clusterTemplateFromHub(src *infrav1.HarvesterClusterTemplate, dst *v1alpha1.HarvesterClusterTemplate) {
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = clusterSpecFromHub(src.Spec.Template.Spec)
}

func clusterSpecToHub(src v1alpha1.HarvesterClusterSpec) infrav1.HarvesterClusterSpec {
	return infrav1.HarvesterClusterSpec{
		Server: src.Server, IdentitySecret: src.IdentitySecret, LoadBalancerConfig: src.LoadBalancerConfig,
		ControlPlaneEndpoint: src.ControlPlaneEndpoint, TargetNamespace: src.TargetNamespace,
		UpdateCloudProviderConfig: src.UpdateCloudProviderConfig, VMNetworkConfig: src.VMNetworkConfig,
	}
}

func clusterSpecFromHub(src infrav1.HarvesterClusterSpec) v1alpha1.HarvesterClusterSpec {
	return v1alpha1.HarvesterClusterSpec{
		Server: src.Server, IdentitySecret: src.IdentitySecret, LoadBalancerConfig: src.LoadBalancerConfig,
		ControlPlaneEndpoint: src.ControlPlaneEndpoint, TargetNamespace: src.TargetNamespace,
		UpdateCloudProviderConfig: src.UpdateCloudProviderConfig, VMNetworkConfig: src.VMNetworkConfig,
	}
}

func machineToHub(src *v1alpha1.HarvesterMachine, dst *infrav1.HarvesterMachine) {
	dst.Spec = infrav1.HarvesterMachineSpec(src.Spec)
	dst.Status = infrav1.HarvesterMachineStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Addresses: src.Status.Addresses, Initialization: src.Status.Initialization,
		AllocatedIPAddress: src.Status.AllocatedIPAddress, AllocatedPoolRef: src.Status.AllocatedPoolRef, FailureDomain: src.Status.FailureDomain,
		Deprecated: deprecatedStatus(src.Status.FailureReason, src.Status.FailureMessage),
	}
}

func machineFromHub(src *infrav1.HarvesterMachine, dst *v1alpha1.HarvesterMachine) {
	dst.Spec = v1alpha1.HarvesterMachineSpec(src.Spec)
	dst.Status = v1alpha1.HarvesterMachineStatus{
		Ready: src.Status.Ready, Conditions: src.Status.Conditions, Addresses: src.Status.Addresses, Initialization: src.Status.Initialization,
		AllocatedIPAddress: src.Status.AllocatedIPAddress, AllocatedPoolRef: src.Status.AllocatedPoolRef, FailureDomain: src.Status.FailureDomain,
	}
	dst.Status.FailureReason, dst.Status.FailureMessage = failure(src.Status.Deprecated)
}

func machineTemplateToHub(src *v1alpha1.HarvesterMachineTemplate, dst *infrav1.HarvesterMachineTemplate) {
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = infrav1.HarvesterMachineSpec(src.Spec.Template.Spec)
	dst.Status = src.Status
}

func machineTemplateFromHub(src *infrav1.HarvesterMachineTemplate, dst *v1alpha1.HarvesterMachineTemplate) {
	dst.Spec.Template.ObjectMeta = src.Spec.Template.ObjectMeta
	dst.Spec.Template.Spec = v1alpha1.HarvesterMachineSpec(src.Spec.Template.Spec)
	dst.Status = src.Status
}

// deprecatedStatus returns the fields that only v1alpha1 has; nil if they are empty.
func deprecatedStatus(reason, message string) *infrav1.DeprecatedStatus {
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
