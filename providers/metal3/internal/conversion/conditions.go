// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// ClusterConditions returns the v1beta1 conditions of a Metal3Cluster.
func ClusterConditions() status.V1Beta1 {
	return status.V1Beta1{Conditions: []status.V1Beta1Condition{{
		Type: "BaremetalInfrastructureReady", From: infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition,
		Severity: clusterv1.ConditionSeverityError,
	}}}
}

// MachineConditions returns the v1beta1 conditions of a Metal3Machine.
func MachineConditions() status.V1Beta1 {
	return status.V1Beta1{Conditions: []status.V1Beta1Condition{{
		Type: "AssociateBMH", From: infrav1.Metal3MachineAssociateBareMetalHostCondition, Severity: clusterv1.ConditionSeverityError,
		Progress: []string{infrav1.NoCapacityReason},
		Reasons: map[string]string{
			infrav1.Metal3MachineAssociateBareMetalHostFailedReason:         "AssociateBMHFailed",
			infrav1.Metal3MachineWaitingForClusterInfrastructureReadyReason: "WaitingForClusterInfrastructure",
			infrav1.Metal3MachineWaitingForBootstrapDataReason:              "WaitingForBootstrapReady",
			infrav1.Metal3MachineHostNotFoundReason:                         "MissingBMH",
		},
	}, {
		Type: "KubernetesNodeReady", From: infrav1.Metal3MachineHostProvisionedCondition, Severity: clusterv1.ConditionSeverityError,
		Progress: []string{infrav1.Metal3MachineHostProvisioningReason},
		Reasons: map[string]string{
			infrav1.Metal3MachineAmbiguousNodeReason:        "SettingProviderIDOnNodeFailed",
			infrav1.Metal3MachineUnexpectedProviderIDReason: "SettingProviderIDOnNodeFailed",
		},
	}, {
		Type: "Metal3DataReady", From: infrav1.Metal3MachineDataReadyCondition, Severity: clusterv1.ConditionSeverityError,
	}}}
}
