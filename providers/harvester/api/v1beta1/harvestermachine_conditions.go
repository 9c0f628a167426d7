// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition MachineCreated of a HarvesterMachine. While the failure domain is
// not suitable, it has one of the reasons of failure domains.
const (
	// MachineCreatedCondition reports whether the virtual machine has been
	// created.
	MachineCreatedCondition = "MachineCreated"

	// MachineCreatedReason surfaces when the virtual machine has been
	// created.
	MachineCreatedReason = "MachineCreated"

	// MachineNotFoundReason surfaces when the virtual machine was deleted
	// outside of the provider.
	MachineNotFoundReason = "MachineNotFound"

	// WaitingForHarvesterClusterReason surfaces when the HarvesterCluster
	// does not exist.
	WaitingForHarvesterClusterReason = "WaitingForHarvesterCluster"

	// WaitingForClusterInfrastructureReadyReason surfaces when the
	// infrastructure of the cluster is not provisioned yet.
	WaitingForClusterInfrastructureReadyReason = clusterv1.WaitingForClusterInfrastructureReadyReason

	// WaitingForBootstrapDataReason surfaces when the bootstrap data does not
	// exist yet.
	WaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// WaitingForAddressReason surfaces while the virtual machine is not
	// created because it has no address. Condition VMIPAllocated reports why.
	WaitingForAddressReason = "WaitingForAddress"

	// VirtualMachineNotOursReason surfaces when a virtual machine of the same
	// name has another owner, which is not certainly another
	// HarvesterMachine.
	VirtualMachineNotOursReason = "VirtualMachineNotOurs"

	// IDNotOursReason surfaces when the object is a copy: the id in its
	// annotations was generated for another object. Condition
	// InfrastructureReady of a HarvesterCluster has it, too.
	IDNotOursReason = "IDNotOurs"

	// AnnotationsRemovedReason surfaces when a policy or webhook of the
	// management cluster removes annotations or finalizers that must be
	// stored before objects are created on Harvester. Condition
	// InfrastructureReady has it, too.
	AnnotationsRemovedReason = faultlinev1.ReasonAnnotationsRemoved

	// VirtualMachineRefusedReason surfaces when Harvester rejects the virtual
	// machine, because of a quota, a policy or a webhook.
	VirtualMachineRefusedReason = "VirtualMachineRefused"

	// MachineSpecInvalidReason surfaces when no virtual machine can be built
	// from the spec.
	MachineSpecInvalidReason = "MachineSpecInvalid"

	// ImageNotFoundReason surfaces when the image of a volume does not exist.
	ImageNotFoundReason = "ImageNotFound"

	// ImageAmbiguousReason surfaces when several images have the display name
	// of a volume's image.
	ImageAmbiguousReason = "ImageAmbiguous"

	// ImageNotReadyReason surfaces when the image of a volume is not
	// downloaded yet or its download failed.
	ImageNotReadyReason = "ImageNotReady"

	// StorageClassNotFoundReason surfaces when the storage class of a volume
	// does not exist.
	StorageClassNotFoundReason = "StorageClassNotFound"

	// NetworkNotFoundReason surfaces when a network does not exist.
	NetworkNotFoundReason = "NetworkNotFound"

	// NetworkMissingReason surfaces when neither the machine nor its failure
	// domain names a network.
	NetworkMissingReason = "NetworkMissing"

	// KeyPairNotFoundReason surfaces when the KeyPair does not exist.
	KeyPairNotFoundReason = "KeyPairNotFound"
)

// Condition VMIPAllocated of a HarvesterMachine. It exists only when the
// machine gets its address from an IPPool.
const (
	// VMIPAllocatedCondition reports whether the machine has an address.
	VMIPAllocatedCondition = "VMIPAllocated"

	// VMIPAllocatedReason surfaces when the machine has an address.
	VMIPAllocatedReason = "VMIPAllocated"

	// VMIPAllocationFailedReason surfaces when no pool can allocate an
	// address.
	VMIPAllocationFailedReason = "VMIPAllocationFailed"

	// AddressNotOursReason surfaces when the pool records another holder for
	// the address that the machine uses.
	AddressNotOursReason = "AddressNotOurs"

	// VMIPPoolExhaustedReason surfaces when no pool has a free address.
	// Condition LoadBalancerReady of a HarvesterCluster has it, too.
	VMIPPoolExhaustedReason = "VMIPPoolExhausted"

	// IPPoolNotFoundReason surfaces when a referenced pool does not exist.
	// Conditions LoadBalancerReady and VMIPPoolReady of a HarvesterCluster
	// have it, too.
	IPPoolNotFoundReason = "IPPoolNotFound"

	// IPPoolNetworkMismatchReason surfaces when every pool is for networks
	// that the machine is not attached to.
	IPPoolNetworkMismatchReason = "IPPoolNetworkMismatch"
)

// Condition VMProvisioningReady of a HarvesterMachine.
const (
	// VMProvisioningReadyCondition reports whether the virtual machine has
	// its volumes and a host.
	VMProvisioningReadyCondition = "VMProvisioningReady"

	// VMProvisioningReadyReason surfaces when the virtual machine has its
	// volumes and a host.
	VMProvisioningReadyReason = "VMProvisioningReady"

	// VMProvisioningInProgressReason surfaces while volumes or the host are
	// missing.
	VMProvisioningInProgressReason = "VMProvisioningInProgress"

	// VMProvisioningFailedReason surfaces when Harvester reports that it
	// cannot create a volume or start the virtual machine.
	VMProvisioningFailedReason = "VMProvisioningFailed"
)

// Condition VMRunning of a HarvesterMachine.
const (
	// VMRunningCondition reports whether the virtual machine runs.
	VMRunningCondition = "VMRunning"

	// VMRunningReason surfaces when the virtual machine runs.
	VMRunningReason = "VMRunning"

	// VMNotRunningReason surfaces when the virtual machine does not run.
	VMNotRunningReason = "VMNotRunning"

	// VMPausedReason surfaces when the virtual machine is paused.
	VMPausedReason = "VMPaused"

	// VMHostUnreachableReason surfaces when the host of the virtual machine
	// does not report its status.
	VMHostUnreachableReason = "VMHostUnreachable"
)

// Condition InfrastructureReady of a HarvesterMachine has these reasons in
// addition to those of a HarvesterCluster. When a provisioned machine no
// longer runs, it has the reason of VMRunning.
const (
	// WaitingForNodeReason surfaces when the virtual machine runs and its
	// Node has not joined yet.
	WaitingForNodeReason = "WaitingForNode"

	// UnexpectedProviderIDReason surfaces when the Node of the machine has a
	// provider ID other than the machine's.
	UnexpectedProviderIDReason = "UnexpectedProviderID"
)
