// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition Ready of a VSphereMachine sums up the others.
const (
	// VSphereMachineReadyCondition is true when all the other conditions are.
	VSphereMachineReadyCondition = clusterv1.ReadyCondition

	// VSphereMachineReadyReason: all conditions are as they should be.
	VSphereMachineReadyReason = clusterv1.ReadyReason

	// VSphereMachineNotReadyReason: a condition is not as it should be.
	VSphereMachineNotReadyReason = clusterv1.NotReadyReason

	// VSphereMachineReadyUnknownReason: a condition is not known.
	VSphereMachineReadyUnknownReason = clusterv1.ReadyUnknownReason
)

// Condition PlacementReady of a VSphereMachine. While it is false nothing is
// created anywhere.
const (
	// VSphereMachinePlacementReadyCondition tells whether it is settled where
	// the machine goes.
	VSphereMachinePlacementReadyCondition = "PlacementReady"

	// VSphereMachinePlacedReason: it is.
	VSphereMachinePlacedReason = "Placed"

	// VSphereMachineFailureDomainNotFoundReason: the Machine names a zone that
	// does not exist, or whose VSphereFailureDomain does not.
	VSphereMachineFailureDomainNotFoundReason = FailureDomainNotFoundReason

	// VSphereMachineFailureDomainNotReadyReason: the zone is not ready.
	VSphereMachineFailureDomainNotReadyReason = "FailureDomainNotReady"

	// VSphereMachineFailureDomainNotAllowedReason: the zone is on another
	// server than the cluster's.
	VSphereMachineFailureDomainNotAllowedReason = "FailureDomainNotAllowed"

	// VSphereMachineFailureDomainNotNamedReason: a control plane's Machine names
	// no failure domain, although its cluster has some for control planes.
	VSphereMachineFailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed

	// VSphereMachineNoCapacityReason: the zone has no room.
	VSphereMachineNoCapacityReason = "NoCapacity"

	// VSphereMachineInvalidPlacementReason: zone and machine together make no
	// valid virtual machine, such as a card without a network.
	VSphereMachineInvalidPlacementReason = "InvalidPlacement"

	// VSphereMachinePlacementDeletingReason: the machine is being deleted.
	VSphereMachinePlacementDeletingReason = clusterv1.DeletingReason
)

// Condition VirtualMachineProvisioned of a VSphereMachine. Besides these
// reasons it has those of the VSphereVM.
const (
	// VSphereMachineVirtualMachineProvisionedCondition tells whether the
	// virtual machine runs and can be reached.
	VSphereMachineVirtualMachineProvisionedCondition = "VirtualMachineProvisioned"

	// VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason:
	// the cluster's infrastructure is not provisioned yet.
	VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason = clusterv1.WaitingForClusterInfrastructureReadyReason

	// VSphereMachineVirtualMachineWaitingForControlPlaneInitializedReason: the
	// first control-plane machine is not up yet.
	VSphereMachineVirtualMachineWaitingForControlPlaneInitializedReason = clusterv1.WaitingForControlPlaneInitializedReason

	// VSphereMachineVirtualMachineWaitingForBootstrapDataReason: there is no
	// bootstrap data yet.
	VSphereMachineVirtualMachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// VSphereMachineVirtualMachineWaitingForPlacementReason: it is not settled
	// where the machine goes; see condition PlacementReady.
	VSphereMachineVirtualMachineWaitingForPlacementReason = "WaitingForPlacement"

	// VSphereMachineVirtualMachineProvisioningReason: the VSphereVM was made
	// and says nothing yet.
	VSphereMachineVirtualMachineProvisioningReason = "Provisioning"

	// VSphereMachineVirtualMachinePoweringOnReason: the machine is being
	// powered on.
	VSphereMachineVirtualMachinePoweringOnReason = "PoweringOn"

	// VSphereMachineVirtualMachineWaitingForNetworkAddressReason: the guest
	// reports no address yet.
	VSphereMachineVirtualMachineWaitingForNetworkAddressReason = "WaitingForNetworkAddress"

	// VSphereMachineVirtualMachineRemovedReason: the VSphereVM of a machine that
	// was provisioned has been deleted by somebody else than Cluster API. It is
	// not made again.
	VSphereMachineVirtualMachineRemovedReason = "Removed"

	// VSphereMachineVirtualMachineProvisionedReason: the machine runs and can
	// be reached.
	VSphereMachineVirtualMachineProvisionedReason = clusterv1.ProvisionedReason

	// VSphereMachineVirtualMachineNotProvisionedReason: it does not.
	VSphereMachineVirtualMachineNotProvisionedReason = clusterv1.NotProvisionedReason

	// VSphereMachineVirtualMachineDeletingReason: it is being deleted.
	VSphereMachineVirtualMachineDeletingReason = clusterv1.DeletingReason
)
