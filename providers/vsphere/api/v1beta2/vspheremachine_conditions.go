// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition PlacementReady of a VSphereMachine. While it is false nothing is
// created anywhere.
const (
	// VSphereMachinePlacementReadyCondition tells whether it is settled where
	// the machine goes.
	VSphereMachinePlacementReadyCondition = "PlacementReady"

	// VSphereMachinePlacedReason: it is.
	VSphereMachinePlacedReason = "Placed"

	// VSphereMachineFailureDomainNotReadyReason: the zone is not ready.
	VSphereMachineFailureDomainNotReadyReason = "FailureDomainNotReady"

	// VSphereMachineFailureDomainNotNamedReason: a control plane's Machine names
	// no failure domain, although its cluster has some for control planes.
	VSphereMachineFailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed
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

	// VSphereMachineVirtualMachineWaitingForBootstrapDataReason: there is no
	// bootstrap data yet.
	VSphereMachineVirtualMachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// VSphereMachineVirtualMachineRemovedReason: the VSphereVM of a machine that
	// was provisioned has been deleted by somebody else than Cluster API. It is
	// not made again.
	VSphereMachineVirtualMachineRemovedReason = "Removed"

	// VSphereMachineVirtualMachineProvisionedReason: the machine runs and can
	// be reached.
	VSphereMachineVirtualMachineProvisionedReason = clusterv1.ProvisionedReason

	// VSphereMachineVirtualMachineNotProvisionedReason: it does not.
	VSphereMachineVirtualMachineNotProvisionedReason = clusterv1.NotProvisionedReason
)
