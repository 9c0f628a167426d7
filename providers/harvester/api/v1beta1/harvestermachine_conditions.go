// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition MachineCreated of a HarvesterMachine. While the failure domain does
// not suit it has one of the reasons of failure domains.
const (
	// MachineCreatedCondition tells whether the virtual machine has been made.
	MachineCreatedCondition = "MachineCreated"

	// MachineCreatedReason: it has.
	MachineCreatedReason = "MachineCreated"

	// MachineNotFoundReason: it was made, and somebody has deleted it since.
	MachineNotFoundReason = "MachineNotFound"

	// WaitingForHarvesterClusterReason: the HarvesterCluster does not exist.
	WaitingForHarvesterClusterReason = "WaitingForHarvesterCluster"

	// WaitingForClusterInfrastructureReadyReason: the cluster's infrastructure is
	// not provisioned yet.
	WaitingForClusterInfrastructureReadyReason = clusterv1.WaitingForClusterInfrastructureReadyReason

	// WaitingForBootstrapDataReason: there is no bootstrap data yet.
	WaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// WaitingForAddressReason: the virtual machine is not made before it has an
	// address. Condition VMIPAllocated says why it has none.
	WaitingForAddressReason = "WaitingForAddress"

	// VirtualMachineNotOursReason: a virtual machine of its name is somebody
	// else's, and not for certain that of another HarvesterMachine.
	VirtualMachineNotOursReason = "VirtualMachineNotOurs"

	// IDNotOursReason: the id in its annotations was made for another object, of
	// which this one is a copy. Condition InfrastructureReady of a HarvesterCluster
	// has it, too.
	IDNotOursReason = "IDNotOurs"

	// AnnotationsRemovedReason: a policy or webhook of the management cluster removes
	// annotations or finalizers that have to be stored before anything is made on
	// Harvester. Condition InfrastructureReady has it, too.
	AnnotationsRemovedReason = faultlinev1.ReasonAnnotationsRemoved

	// VirtualMachineRefusedReason: Harvester refuses the virtual machine, for a
	// quota, a policy or a webhook.
	VirtualMachineRefusedReason = "VirtualMachineRefused"

	// MachineSpecInvalidReason: the spec cannot be made a virtual machine.
	MachineSpecInvalidReason = "MachineSpecInvalid"

	// ImageNotFoundReason: a volume's image does not exist.
	ImageNotFoundReason = "ImageNotFound"

	// ImageAmbiguousReason: several images have the display name that a volume
	// names.
	ImageAmbiguousReason = "ImageAmbiguous"

	// ImageNotReadyReason: a volume's image is not downloaded yet, or cannot be.
	ImageNotReadyReason = "ImageNotReady"

	// StorageClassNotFoundReason: a volume's storage class does not exist.
	StorageClassNotFoundReason = "StorageClassNotFound"

	// NetworkNotFoundReason: a network does not exist.
	NetworkNotFoundReason = "NetworkNotFound"

	// NetworkMissingReason: neither the machine nor its failure domain names a
	// network.
	NetworkMissingReason = "NetworkMissing"

	// KeyPairNotFoundReason: the KeyPair does not exist.
	KeyPairNotFoundReason = "KeyPairNotFound"
)

// Condition VMIPAllocated of a HarvesterMachine. It is there only when the machine
// has its address from a pool.
const (
	// VMIPAllocatedCondition tells whether the machine has an address.
	VMIPAllocatedCondition = "VMIPAllocated"

	// VMIPAllocatedReason: it has.
	VMIPAllocatedReason = "VMIPAllocated"

	// VMIPAllocationFailedReason: no pool can give it one.
	VMIPAllocationFailedReason = "VMIPAllocationFailed"

	// AddressNotOursReason: the address that it runs with is another's in the
	// pool.
	AddressNotOursReason = "AddressNotOurs"

	// VMIPPoolExhaustedReason: no pool has an address left. Condition
	// LoadBalancerReady of a HarvesterCluster has it, too.
	VMIPPoolExhaustedReason = "VMIPPoolExhausted"

	// IPPoolNotFoundReason: a pool that is referred to does not exist. Conditions
	// LoadBalancerReady and VMIPPoolReady of a HarvesterCluster have it, too.
	IPPoolNotFoundReason = "IPPoolNotFound"

	// IPPoolNetworkMismatchReason: every pool is for other networks than those
	// of the machine.
	IPPoolNetworkMismatchReason = "IPPoolNetworkMismatch"
)

// Condition VMProvisioningReady of a HarvesterMachine.
const (
	// VMProvisioningReadyCondition tells whether the virtual machine has its
	// volumes and a host.
	VMProvisioningReadyCondition = "VMProvisioningReady"

	// VMProvisioningReadyReason: it has.
	VMProvisioningReadyReason = "VMProvisioningReady"

	// VMProvisioningInProgressReason: not yet.
	VMProvisioningInProgressReason = "VMProvisioningInProgress"

	// VMProvisioningFailedReason: Harvester reports that it cannot make a volume
	// or start the virtual machine.
	VMProvisioningFailedReason = "VMProvisioningFailed"
)

// Condition VMRunning of a HarvesterMachine.
const (
	// VMRunningCondition tells whether the virtual machine runs.
	VMRunningCondition = "VMRunning"

	// VMRunningReason: it does.
	VMRunningReason = "VMRunning"

	// VMNotRunningReason: it does not.
	VMNotRunningReason = "VMNotRunning"

	// VMPausedReason: somebody has paused it.
	VMPausedReason = "VMPaused"

	// VMHostUnreachableReason: the host that it runs on does not report.
	VMHostUnreachableReason = "VMHostUnreachable"
)

// Condition InfrastructureReady of a HarvesterMachine has these reasons in
// addition to those of a HarvesterCluster. Of a machine that has been provisioned
// and does not run any more it has the reason that VMRunning has.
const (
	// WaitingForNodeReason: the virtual machine runs, and its Node has not
	// joined yet.
	WaitingForNodeReason = "WaitingForNode"

	// UnexpectedProviderIDReason: the Node of the machine has a provider ID that
	// is not the machine's.
	UnexpectedProviderIDReason = "UnexpectedProviderID"
)
