// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

// vCenterAvailable returns the condition that v1beta1 and v1beta2 share.
func vCenterAvailable() status.V1Beta1Condition {
	return status.V1Beta1Condition{
		Type: infrav1.VSphereClusterVCenterAvailableCondition, From: infrav1.VSphereClusterVCenterAvailableCondition,
		Severity: clusterv1.ConditionSeverityError, Progress: []string{infrav1.VCenterConnectingReason},
	}
}

// ClusterConditions returns the v1beta1 conditions of a VSphereCluster.
func ClusterConditions() status.V1Beta1 {
	return status.V1Beta1{
		Conditions: []status.V1Beta1Condition{vCenterAvailable(), {
			Type: "FailureDomainsAvailable", From: infrav1.VSphereClusterFailureDomainsReadyCondition, Severity: clusterv1.ConditionSeverityInfo,
			Reasons: map[string]string{infrav1.VSphereClusterFailureDomainsNotReadyReason: "FailureDomainsSkipped"},
		}, {
			Type: "ClusterModulesAvailable", From: infrav1.VSphereClusterClusterModulesReadyCondition, Severity: clusterv1.ConditionSeverityWarning,
			Reasons: map[string]string{
				infrav1.VSphereClusterModulesInvalidVCenterVersionReason: "VCenterVersionIncompatible", infrav1.VSphereClusterClusterModulesNotReadyReason: "ClusterModuleSetupFailed",
			},
		}},
	}
}

// IdentityConditions returns the v1beta1 conditions of a VSphereClusterIdentity. Ready is a v1beta1 condition that upstream
// 1.16 stored among the v1beta2 ones.
func IdentityConditions() status.V1Beta1 {
	return status.V1Beta1{Gone: []string{clusterv1.ReadyCondition}, Conditions: []status.V1Beta1Condition{{
		Type: "CredentialsAvailable", From: infrav1.VSphereClusterIdentityAvailableCondition, Severity: clusterv1.ConditionSeverityWarning,
		Reasons: map[string]string{infrav1.VSphereClusterIdentitySecretAlreadyInUseReason: "SecretInUse"},
	}}}
}

// ZoneConditions returns the v1beta1 conditions of a VSphereDeploymentZone.
func ZoneConditions() status.V1Beta1 {
	return status.V1Beta1{Conditions: []status.V1Beta1Condition{vCenterAvailable(), {
		Type: "PlacementConstraintMet", From: infrav1.VSphereDeploymentZonePlacementConstraintReadyCondition, Severity: clusterv1.ConditionSeverityError,
	}, {
		Type: "VSphereFailureDomainValidated", From: infrav1.VSphereDeploymentZoneFailureDomainValidatedCondition, Severity: clusterv1.ConditionSeverityError,
		Reasons: map[string]string{
			infrav1.VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason: "FailureDomainRegionMisconfigured",
			infrav1.VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason:   "FailureDomainZoneMisconfigured",
		},
	}}}
}

// MachineConditions returns the v1beta1 conditions of a VSphereMachine.
func MachineConditions() status.V1Beta1 {
	return status.V1Beta1{Conditions: []status.V1Beta1Condition{provisioned()}}
}

// VMConditions returns the v1beta1 conditions of a VSphereVM.
func VMConditions() status.V1Beta1 {
	return status.V1Beta1{
		Conditions: []status.V1Beta1Condition{vCenterAvailable(), provisioned(), {
			Type: "IPAddressClaimed", From: infrav1.VSphereVMIPAddressClaimsFulfilledCondition, Severity: clusterv1.ConditionSeverityError,
			Reasons: map[string]string{infrav1.VSphereVMIPAddressClaimsNotFulfilledReason: "IPAddressClaimNotFound"},
		}, {
			Type: infrav1.VSphereVMGuestSoftPowerOffSucceededCondition, From: infrav1.VSphereVMGuestSoftPowerOffSucceededCondition,
			Severity: clusterv1.ConditionSeverityWarning,
			Reasons: map[string]string{
				infrav1.VSphereVMGuestSoftPowerOffInProgressReason: "GuestSoftPowerOffInProgress", infrav1.VSphereVMGuestSoftPowerOffFailedReason: "GuestSoftPowerOffFailed",
			},
			Progress: []string{infrav1.VSphereVMGuestSoftPowerOffInProgressReason},
		}, {
			Type: infrav1.VSphereVMPCIDevicesDetachedCondition, From: infrav1.VSphereVMPCIDevicesDetachedCondition, Severity: clusterv1.ConditionSeverityWarning,
		}},
	}
}

// provisioned returns the condition that a machine shares with its virtual machine.
func provisioned() status.V1Beta1Condition {
	return status.V1Beta1Condition{
		Type: "VMProvisioned", From: infrav1.VSphereVMVirtualMachineProvisionedCondition, Severity: clusterv1.ConditionSeverityWarning,
		Reasons: map[string]string{
			infrav1.VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason: "WaitingForClusterInfrastructure",
			infrav1.VSphereMachineVirtualMachineWaitingForBootstrapDataReason:              "WaitingForBootstrapData",
			infrav1.VSphereVMVirtualMachineWaitingForCloneReason:                           "Cloning",
			infrav1.VSphereVMVirtualMachineTaskFailedReason:                                "TaskFailure",
		},
		Progress: []string{
			infrav1.VSphereVMVirtualMachineUpgradingHardwareReason, infrav1.VSphereVMVirtualMachineAddingPCIDevicesReason,
			infrav1.VSphereVMVirtualMachineConfiguringReason, infrav1.VSphereVMVirtualMachinePoweringOnReason, infrav1.VSphereMachineVirtualMachineNotProvisionedReason,
		},
	}
}
