// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Upstream's conditions and reasons that this provider sets only under Cluster API's own names. They exist for code that
// compiles against them.
const (
	// VSphereClusterReadyCondition is true if all other conditions are true.
	VSphereClusterReadyCondition = clusterv1.ReadyCondition

	// VSphereClusterReadyReason surfaces when all conditions are met.
	VSphereClusterReadyReason = clusterv1.ReadyReason

	// VSphereClusterNotReadyReason surfaces when a condition is not met.
	VSphereClusterNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterReadyUnknownReason surfaces when a condition is unknown.
	VSphereClusterReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereClusterFailureDomainsReadyReason surfaces when machines can be placed in all failure domains.
	VSphereClusterFailureDomainsReadyReason = clusterv1.ReadyReason

	// VSphereClusterFailureDomainsNotReadyReason surfaces when a zone is not ready.
	VSphereClusterFailureDomainsNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterVCenterUnreachableReason surfaces when the vCenter does not respond.
	VSphereClusterVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereClusterVCenterAvailableDeletingReason surfaces when the cluster is being deleted.
	VSphereClusterVCenterAvailableDeletingReason = clusterv1.DeletingReason

	// VSphereClusterIdentitySettingSecretOwnerReferenceFailedReason surfaces when the owner reference of the Secret could not
	// be set.
	VSphereClusterIdentitySettingSecretOwnerReferenceFailedReason = "SettingSecretOwnerReferenceFailed"

	// VSphereDeploymentZoneReadyCondition is true if machines can be placed in the zone.
	VSphereDeploymentZoneReadyCondition = clusterv1.ReadyCondition

	// VSphereDeploymentZoneReadyReason surfaces when machines can be placed in the zone.
	VSphereDeploymentZoneReadyReason = clusterv1.ReadyReason

	// VSphereDeploymentZoneNotReadyReason surfaces when the zone has a problem.
	VSphereDeploymentZoneNotReadyReason = clusterv1.NotReadyReason

	// VSphereDeploymentZoneReadyUnknownReason surfaces when the zone cannot be checked.
	VSphereDeploymentZoneReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereDeploymentZoneVCenterUnreachableReason surfaces when the vCenter does not respond.
	VSphereDeploymentZoneVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereDeploymentZoneVCenterAvailableDeletingReason surfaces when the zone is being deleted.
	VSphereDeploymentZoneVCenterAvailableDeletingReason = clusterv1.DeletingReason

	// VSphereDeploymentZonePlacementConstraintResourcePoolNotFoundReason surfaces when the resource pool does not exist, or not
	// in the compute cluster.
	VSphereDeploymentZonePlacementConstraintResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereDeploymentZonePlacementConstraintFolderNotFoundReason surfaces when the folder does not exist.
	VSphereDeploymentZonePlacementConstraintFolderNotFoundReason = FolderNotFoundReason

	// VSphereDeploymentZonePlacementConstraintDeletingReason surfaces when the zone is being deleted.
	VSphereDeploymentZonePlacementConstraintDeletingReason = clusterv1.DeletingReason

	// VSphereDeploymentZoneFailureDomainValidationFailedReason surfaces when the failure domain could not be checked.
	VSphereDeploymentZoneFailureDomainValidationFailedReason = "ValidationFailed"

	// VSphereDeploymentZoneFailureDomainComputeClusterNotFoundReason surfaces when the compute cluster does not exist.
	VSphereDeploymentZoneFailureDomainComputeClusterNotFoundReason = ComputeClusterNotFoundReason

	// VSphereDeploymentZoneFailureDomainResourcePoolNotFoundReason surfaces when the compute cluster does not have the resource
	// pool.
	VSphereDeploymentZoneFailureDomainResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereDeploymentZoneFailureDomainDatastoreNotFoundReason surfaces when the datastore does not exist or is not accessible
	// from the hosts.
	VSphereDeploymentZoneFailureDomainDatastoreNotFoundReason = DatastoreNotFoundReason

	// VSphereDeploymentZoneFailureDomainNetworkNotFoundReason surfaces when a network does not exist or is not accessible from
	// the hosts.
	VSphereDeploymentZoneFailureDomainNetworkNotFoundReason = NetworkNotFoundReason

	// VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason surfaces when the region's tag does not exist, or is not
	// attached to the objects that must carry it.
	VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason = "RegionMisconfigured"

	// VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason surfaces when the zone's tag does not exist, or is not attached
	// to the objects that must carry it.
	VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason = "ZoneMisconfigured"

	// VSphereDeploymentZoneFailureDomainHostsMisconfiguredReason surfaces when the host group, the VM group or the rule between
	// them does not exist, is disabled, or is not effective.
	VSphereDeploymentZoneFailureDomainHostsMisconfiguredReason = "HostsMisconfigured"

	// VSphereDeploymentZoneFailureDomainDeletingReason surfaces when the zone is being deleted.
	VSphereDeploymentZoneFailureDomainDeletingReason = clusterv1.DeletingReason

	// VSphereMachineReadyCondition is true if all other conditions are true.
	VSphereMachineReadyCondition = clusterv1.ReadyCondition

	// VSphereMachineReadyReason surfaces when all conditions are met.
	VSphereMachineReadyReason = clusterv1.ReadyReason

	// VSphereMachineNotReadyReason surfaces when a condition is not met.
	VSphereMachineNotReadyReason = clusterv1.NotReadyReason

	// VSphereMachineReadyUnknownReason surfaces when a condition is unknown.
	VSphereMachineReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereMachineVirtualMachineWaitingForControlPlaneInitializedReason surfaces when the first control-plane machine is not
	// running yet.
	VSphereMachineVirtualMachineWaitingForControlPlaneInitializedReason = clusterv1.WaitingForControlPlaneInitializedReason

	// VSphereMachineVirtualMachineProvisioningReason surfaces when the VSphereVM was created and has no conditions yet.
	VSphereMachineVirtualMachineProvisioningReason = "Provisioning"

	// VSphereMachineVirtualMachinePoweringOnReason surfaces when the machine is being powered on.
	VSphereMachineVirtualMachinePoweringOnReason = "PoweringOn"

	// VSphereMachineVirtualMachineWaitingForNetworkAddressReason surfaces when the guest reports no address yet.
	VSphereMachineVirtualMachineWaitingForNetworkAddressReason = "WaitingForNetworkAddress"

	// VSphereMachineVirtualMachineDeletingReason surfaces when the virtual machine is being deleted.
	VSphereMachineVirtualMachineDeletingReason = clusterv1.DeletingReason

	// VSphereVMReadyCondition is true if all other conditions are true.
	VSphereVMReadyCondition = clusterv1.ReadyCondition

	// VSphereVMReadyReason surfaces when all conditions are met.
	VSphereVMReadyReason = clusterv1.ReadyReason

	// VSphereVMNotReadyReason surfaces when a condition is not met.
	VSphereVMNotReadyReason = clusterv1.NotReadyReason

	// VSphereVMReadyUnknownReason surfaces when a condition is unknown.
	VSphereVMReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereVMVCenterAvailableReason surfaces when the vCenter is available.
	VSphereVMVCenterAvailableReason = clusterv1.AvailableReason

	// VSphereVMVCenterUnreachableReason surfaces when the vCenter does not respond.
	VSphereVMVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereVMIPAddressClaimsBeingCreatedReason surfaces when claims are being created.
	VSphereVMIPAddressClaimsBeingCreatedReason = "IPAddressClaimsBeingCreated"

	// VSphereVMGuestSoftPowerOffFailedReason surfaces when the guest could not be shut down or took too long.
	VSphereVMGuestSoftPowerOffFailedReason = "Failed"

	// VSphereVMGuestSoftPowerOffSucceededReason surfaces when the guest was shut down.
	VSphereVMGuestSoftPowerOffSucceededReason = "Succeeded"
)

// Field values that this provider does not reference, as it passes the values of the spec to vCenter.
const (
	// FtEncryptionDisabled never encrypts Fault Tolerance traffic.
	FtEncryptionDisabled FtEncryptionMode = "ftEncryptionDisabled"

	// FtEncryptionOpportunistic encrypts Fault Tolerance traffic if both hosts support it.
	FtEncryptionOpportunistic FtEncryptionMode = "ftEncryptionOpportunistic"

	// FtEncryptionRequired allows only encrypted Fault Tolerance traffic.
	FtEncryptionRequired FtEncryptionMode = "ftEncryptionRequired"

	// DisabledMigrateEncryption never encrypts vMotion traffic.
	DisabledMigrateEncryption MigrateEncryption = "disabled"

	// OpportunisticMigrateEncryption encrypts vMotion traffic if both hosts support it.
	OpportunisticMigrateEncryption MigrateEncryption = "opportunistic"

	// RequiredMigrateEncryption allows only encrypted vMotion traffic.
	RequiredMigrateEncryption MigrateEncryption = "required"

	// ThinProvisioningMode allocates space when it is written.
	ThinProvisioningMode ProvisioningMode = "Thin"

	// ThickProvisioningMode allocates all space at creation.
	ThickProvisioningMode ProvisioningMode = "Thick"

	// EagerlyZeroedProvisioningMode allocates and zeroes all space at creation.
	EagerlyZeroedProvisioningMode ProvisioningMode = "EagerlyZeroed"
)
