// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// VSphereMachine's PlacementReady condition and corresponding reasons. Nothing is created while the condition is false.
const (
	// VSphereMachinePlacementReadyCondition is true if the placement of the machine is decided.
	VSphereMachinePlacementReadyCondition = "PlacementReady"

	// VSphereMachinePlacedReason surfaces when the placement is decided.
	VSphereMachinePlacedReason = "Placed"

	// VSphereMachineFailureDomainNotReadyReason surfaces when the zone is not ready.
	VSphereMachineFailureDomainNotReadyReason = "FailureDomainNotReady"

	// VSphereMachineFailureDomainNotNamedReason surfaces when a control-plane Machine names no failure domain although its
	// cluster has failure domains for control planes.
	VSphereMachineFailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed
)

// VSphereMachine's VirtualMachineProvisioned condition and corresponding reasons, in addition to those of the VSphereVM.
const (
	// VSphereMachineVirtualMachineProvisionedCondition is true if the virtual machine is running and has its addresses.
	VSphereMachineVirtualMachineProvisionedCondition = "VirtualMachineProvisioned"

	// VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason surfaces when the cluster's infrastructure is not
	// provisioned yet.
	VSphereMachineVirtualMachineWaitingForClusterInfrastructureReadyReason = clusterv1.WaitingForClusterInfrastructureReadyReason

	// VSphereMachineVirtualMachineWaitingForBootstrapDataReason surfaces when there is no bootstrap data yet.
	VSphereMachineVirtualMachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// VSphereMachineVirtualMachineRemovedReason surfaces when a client other than Cluster API has deleted the VSphereVM of a
	// provisioned machine. It is not created again.
	VSphereMachineVirtualMachineRemovedReason = "Removed"

	// VSphereMachineVirtualMachineProvisionedReason surfaces when the virtual machine is running and has its addresses.
	VSphereMachineVirtualMachineProvisionedReason = clusterv1.ProvisionedReason

	// VSphereMachineVirtualMachineNotProvisionedReason surfaces when the virtual machine is not running or has no addresses.
	VSphereMachineVirtualMachineNotProvisionedReason = clusterv1.NotProvisionedReason
)
