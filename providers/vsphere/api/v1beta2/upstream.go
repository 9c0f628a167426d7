// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Conditions and reasons of upstream that no code of this provider uses under these names: what it sets of them, it sets
// under Cluster API's own. They are here for those who compile against them.
const (
	// VSphereClusterReadyCondition is true when all the other conditions are.
	VSphereClusterReadyCondition = clusterv1.ReadyCondition

	// VSphereClusterReadyReason: all conditions are as they should be.
	VSphereClusterReadyReason = clusterv1.ReadyReason

	// VSphereClusterNotReadyReason: a condition is not as it should be.
	VSphereClusterNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterReadyUnknownReason: a condition is not known.
	VSphereClusterReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereClusterFailureDomainsReadyReason: they can.
	VSphereClusterFailureDomainsReadyReason = clusterv1.ReadyReason

	// VSphereClusterFailureDomainsNotReadyReason: a zone is not ready.
	VSphereClusterFailureDomainsNotReadyReason = clusterv1.NotReadyReason

	// VSphereClusterVCenterUnreachableReason: the vCenter does not answer.
	VSphereClusterVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereClusterVCenterAvailableDeletingReason: the cluster is being
	// deleted.
	VSphereClusterVCenterAvailableDeletingReason = clusterv1.DeletingReason

	// VSphereClusterIdentitySettingSecretOwnerReferenceFailedReason: the Secret
	// could not be taken.
	VSphereClusterIdentitySettingSecretOwnerReferenceFailedReason = "SettingSecretOwnerReferenceFailed"

	// VSphereDeploymentZoneReadyCondition is true when machines can be put in
	// the zone.
	VSphereDeploymentZoneReadyCondition = clusterv1.ReadyCondition

	// VSphereDeploymentZoneReadyReason: they can.
	VSphereDeploymentZoneReadyReason = clusterv1.ReadyReason

	// VSphereDeploymentZoneNotReadyReason: something is wrong with the zone.
	VSphereDeploymentZoneNotReadyReason = clusterv1.NotReadyReason

	// VSphereDeploymentZoneReadyUnknownReason: the zone cannot be checked.
	VSphereDeploymentZoneReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereDeploymentZoneVCenterUnreachableReason: the vCenter does not
	// answer.
	VSphereDeploymentZoneVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereDeploymentZoneVCenterAvailableDeletingReason: the zone is being
	// deleted.
	VSphereDeploymentZoneVCenterAvailableDeletingReason = clusterv1.DeletingReason

	// VSphereDeploymentZonePlacementConstraintResourcePoolNotFoundReason: the
	// resource pool is not there, or not in the compute cluster.
	VSphereDeploymentZonePlacementConstraintResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereDeploymentZonePlacementConstraintFolderNotFoundReason: the folder
	// is not there.
	VSphereDeploymentZonePlacementConstraintFolderNotFoundReason = FolderNotFoundReason

	// VSphereDeploymentZonePlacementConstraintDeletingReason: the zone is being
	// deleted.
	VSphereDeploymentZonePlacementConstraintDeletingReason = clusterv1.DeletingReason

	// VSphereDeploymentZoneFailureDomainValidationFailedReason: it could not be
	// checked.
	VSphereDeploymentZoneFailureDomainValidationFailedReason = "ValidationFailed"

	// VSphereDeploymentZoneFailureDomainComputeClusterNotFoundReason: the
	// compute cluster is not there.
	VSphereDeploymentZoneFailureDomainComputeClusterNotFoundReason = ComputeClusterNotFoundReason

	// VSphereDeploymentZoneFailureDomainResourcePoolNotFoundReason: the
	// resource pool is not in the compute cluster.
	VSphereDeploymentZoneFailureDomainResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereDeploymentZoneFailureDomainDatastoreNotFoundReason: the datastore
	// is not there, or cannot be reached from the hosts.
	VSphereDeploymentZoneFailureDomainDatastoreNotFoundReason = DatastoreNotFoundReason

	// VSphereDeploymentZoneFailureDomainNetworkNotFoundReason: a network is not
	// there, or cannot be reached from the hosts.
	VSphereDeploymentZoneFailureDomainNetworkNotFoundReason = NetworkNotFoundReason

	// VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason: the tag of
	// the region is not there, or not on the objects it should be on.
	VSphereDeploymentZoneFailureDomainRegionMisconfiguredReason = "RegionMisconfigured"

	// VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason: the tag of the
	// zone is not there, or not on the objects it should be on.
	VSphereDeploymentZoneFailureDomainZoneMisconfiguredReason = "ZoneMisconfigured"

	// VSphereDeploymentZoneFailureDomainHostsMisconfiguredReason: host group,
	// VM group or the rule between them is not there, is disabled, or does not
	// bind.
	VSphereDeploymentZoneFailureDomainHostsMisconfiguredReason = "HostsMisconfigured"

	// VSphereDeploymentZoneFailureDomainDeletingReason: the zone is being
	// deleted.
	VSphereDeploymentZoneFailureDomainDeletingReason = clusterv1.DeletingReason

	// VSphereMachineReadyCondition is true when all the other conditions are.
	VSphereMachineReadyCondition = clusterv1.ReadyCondition

	// VSphereMachineReadyReason: all conditions are as they should be.
	VSphereMachineReadyReason = clusterv1.ReadyReason

	// VSphereMachineNotReadyReason: a condition is not as it should be.
	VSphereMachineNotReadyReason = clusterv1.NotReadyReason

	// VSphereMachineReadyUnknownReason: a condition is not known.
	VSphereMachineReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereMachineVirtualMachineWaitingForControlPlaneInitializedReason: the
	// first control-plane machine is not up yet.
	VSphereMachineVirtualMachineWaitingForControlPlaneInitializedReason = clusterv1.WaitingForControlPlaneInitializedReason

	// VSphereMachineVirtualMachineProvisioningReason: the VSphereVM was made
	// and says nothing yet.
	VSphereMachineVirtualMachineProvisioningReason = "Provisioning"

	// VSphereMachineVirtualMachinePoweringOnReason: the machine is being
	// powered on.
	VSphereMachineVirtualMachinePoweringOnReason = "PoweringOn"

	// VSphereMachineVirtualMachineWaitingForNetworkAddressReason: the guest
	// reports no address yet.
	VSphereMachineVirtualMachineWaitingForNetworkAddressReason = "WaitingForNetworkAddress"

	// VSphereMachineVirtualMachineDeletingReason: it is being deleted.
	VSphereMachineVirtualMachineDeletingReason = clusterv1.DeletingReason

	// VSphereVMReadyCondition is true when all the other conditions are.
	VSphereVMReadyCondition = clusterv1.ReadyCondition

	// VSphereVMReadyReason: all conditions are as they should be.
	VSphereVMReadyReason = clusterv1.ReadyReason

	// VSphereVMNotReadyReason: a condition is not as it should be.
	VSphereVMNotReadyReason = clusterv1.NotReadyReason

	// VSphereVMReadyUnknownReason: a condition is not known.
	VSphereVMReadyUnknownReason = clusterv1.ReadyUnknownReason

	// VSphereVMVCenterAvailableReason: it can.
	VSphereVMVCenterAvailableReason = clusterv1.AvailableReason

	// VSphereVMVCenterUnreachableReason: the vCenter does not answer.
	VSphereVMVCenterUnreachableReason = VCenterUnreachableReason

	// VSphereVMIPAddressClaimsBeingCreatedReason: claims are being made.
	VSphereVMIPAddressClaimsBeingCreatedReason = "IPAddressClaimsBeingCreated"

	// VSphereVMGuestSoftPowerOffFailedReason: the guest could not be asked, or
	// took too long.
	VSphereVMGuestSoftPowerOffFailedReason = "Failed"

	// VSphereVMGuestSoftPowerOffSucceededReason: the guest shut down.
	VSphereVMGuestSoftPowerOffSucceededReason = "Succeeded"
)

// Values of fields that no code of this provider names: vCenter is given what is written.
const (
	// FtEncryptionDisabled never encrypts Fault Tolerance traffic.
	FtEncryptionDisabled FtEncryptionMode = "ftEncryptionDisabled"

	// FtEncryptionOpportunistic encrypts when both hosts can.
	FtEncryptionOpportunistic FtEncryptionMode = "ftEncryptionOpportunistic"

	// FtEncryptionRequired allows encrypted Fault Tolerance only.
	FtEncryptionRequired FtEncryptionMode = "ftEncryptionRequired"

	// DisabledMigrateEncryption never encrypts vMotion traffic.
	DisabledMigrateEncryption MigrateEncryption = "disabled"

	// OpportunisticMigrateEncryption encrypts when both hosts can.
	OpportunisticMigrateEncryption MigrateEncryption = "opportunistic"

	// RequiredMigrateEncryption allows encrypted vMotion only.
	RequiredMigrateEncryption MigrateEncryption = "required"

	// ThinProvisioningMode takes space as it is written to.
	ThinProvisioningMode ProvisioningMode = "Thin"

	// ThickProvisioningMode takes all space at creation.
	ThickProvisioningMode ProvisioningMode = "Thick"

	// EagerlyZeroedProvisioningMode takes and wipes all space at creation.
	EagerlyZeroedProvisioningMode ProvisioningMode = "EagerlyZeroed"
)
