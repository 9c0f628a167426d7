// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// VSphereVM's VirtualMachineProvisioned condition and corresponding reasons.
const (
	// VSphereVMVirtualMachineProvisionedCondition is true if the virtual machine is running and has its addresses.
	VSphereVMVirtualMachineProvisionedCondition = "VirtualMachineProvisioned"

	// VSphereVMVirtualMachineWaitingForBootstrapDataReason surfaces when there is no bootstrap data yet.
	VSphereVMVirtualMachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// VSphereVMVirtualMachineWaitingForStaticIPAllocationReason surfaces when a card has no address and no means to get one.
	VSphereVMVirtualMachineWaitingForStaticIPAllocationReason = "WaitingForStaticIPAllocation"

	// VSphereVMVirtualMachineWaitingForIPAddressReason surfaces when an address from a pool is not allocated yet, or is
	// invalid.
	VSphereVMVirtualMachineWaitingForIPAddressReason = "WaitingForIPAddress"

	// VSphereVMVirtualMachineWaitingForIPAllocationReason surfaces when the guest reports no address yet.
	VSphereVMVirtualMachineWaitingForIPAllocationReason = "WaitingForIPAllocation"

	// VSphereVMVirtualMachineWaitingForCloneReason surfaces while the clone is in progress.
	VSphereVMVirtualMachineWaitingForCloneReason = "WaitingForClone"

	// VSphereVMVirtualMachineConfiguringReason surfaces while the guest's metadata is being written.
	VSphereVMVirtualMachineConfiguringReason = "Configuring"

	// VSphereVMVirtualMachineWaitingForVMGroupReason surfaces when the machine has not joined the VM group of its failure
	// domain yet.
	VSphereVMVirtualMachineWaitingForVMGroupReason = "WaitingForVMGroup"

	// VSphereVMVirtualMachineWaitingForClusterModuleReason surfaces when the VSphereCluster has no cluster module for the
	// machine yet.
	VSphereVMVirtualMachineWaitingForClusterModuleReason = "WaitingForClusterModule"

	// VSphereVMVirtualMachinePoweringOnReason surfaces while the machine is being powered on.
	VSphereVMVirtualMachinePoweringOnReason = "PoweringOn"

	// VSphereVMVirtualMachineProvisionedReason surfaces when the machine is running and has its addresses.
	VSphereVMVirtualMachineProvisionedReason = clusterv1.ProvisionedReason

	// VSphereVMVirtualMachineNotProvisionedReason surfaces when the machine is not running or has no addresses.
	VSphereVMVirtualMachineNotProvisionedReason = clusterv1.NotProvisionedReason

	// VSphereVMVirtualMachineTaskFailedReason surfaces when a task has failed in vCenter; it is retried at status.retryAfter.
	VSphereVMVirtualMachineTaskFailedReason = "TaskFailed"

	// VSphereVMVirtualMachineNotFoundByBIOSUUIDReason surfaces when a machine that existed is not found any more. It is not
	// created again.
	VSphereVMVirtualMachineNotFoundByBIOSUUIDReason = "NotFoundByBIOSUUID"

	// VSphereVMVirtualMachineAmbiguousReason surfaces when several virtual machines match the VSphereVM equally. None of them
	// is changed.
	VSphereVMVirtualMachineAmbiguousReason = "Ambiguous"

	// VSphereVMVirtualMachineNotIdentifiedReason surfaces when a virtual machine has the BIOS UUID or the reference, but
	// nothing proves that it belongs to the VSphereVM. It is not changed.
	VSphereVMVirtualMachineNotIdentifiedReason = "NotIdentified"

	// VSphereVMVirtualMachineNotVisibleReason surfaces when vCenter has the machine but the account cannot see it.
	VSphereVMVirtualMachineNotVisibleReason = "NotVisible"

	// VSphereVMVirtualMachineNameConflictReason surfaces when another virtual machine in the folder has the name. It is not
	// changed.
	VSphereVMVirtualMachineNameConflictReason = "NameConflict"

	// VSphereVMVirtualMachineTemplateNotFoundReason surfaces when the template does not exist or is ambiguous.
	VSphereVMVirtualMachineTemplateNotFoundReason = "TemplateNotFound"

	// VSphereVMVirtualMachineSnapshotNotFoundReason surfaces when the template does not have the named snapshot.
	VSphereVMVirtualMachineSnapshotNotFoundReason = "SnapshotNotFound"

	// VSphereVMVirtualMachineDatacenterNotFoundReason surfaces when the datacenter does not exist.
	VSphereVMVirtualMachineDatacenterNotFoundReason = DatacenterNotFoundReason

	// VSphereVMVirtualMachineComputeClusterNotFoundReason surfaces when the compute cluster does not exist.
	VSphereVMVirtualMachineComputeClusterNotFoundReason = ComputeClusterNotFoundReason

	// VSphereVMVirtualMachineResourcePoolNotFoundReason surfaces when the resource pool does not exist or is ambiguous.
	VSphereVMVirtualMachineResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereVMVirtualMachineFolderNotFoundReason surfaces when the folder does not exist.
	VSphereVMVirtualMachineFolderNotFoundReason = FolderNotFoundReason

	// VSphereVMVirtualMachineDatastoreNotFoundReason surfaces when the datastore does not exist or is ambiguous.
	VSphereVMVirtualMachineDatastoreNotFoundReason = DatastoreNotFoundReason

	// VSphereVMVirtualMachineNetworkNotFoundReason surfaces when a network does not exist.
	VSphereVMVirtualMachineNetworkNotFoundReason = NetworkNotFoundReason

	// VSphereVMVirtualMachineTagNotFoundReason surfaces when a tag of tagIDs does not exist.
	VSphereVMVirtualMachineTagNotFoundReason = "TagNotFound"

	// VSphereVMVirtualMachineTagRefusedReason surfaces when vCenter rejects attaching a tag of tagIDs because of the rules of
	// its category.
	VSphereVMVirtualMachineTagRefusedReason = "TagRefused"

	// VSphereVMVirtualMachinePrivilegeMissingReason surfaces when the account lacks a privilege.
	VSphereVMVirtualMachinePrivilegeMissingReason = PrivilegeMissingReason

	// VSphereVMVirtualMachineVMGroupNotFoundReason surfaces when the compute cluster does not have the VM group.
	VSphereVMVirtualMachineVMGroupNotFoundReason = "VMGroupNotFound"

	// VSphereVMVirtualMachineOutsideHostGroupReason surfaces when the machine is not powered on because it would run on a host
	// outside of its failure domain.
	VSphereVMVirtualMachineOutsideHostGroupReason = "OutsideHostGroup"

	// VSphereVMVirtualMachineNoUsableHostReason surfaces when no host of the host group can run the machine.
	VSphereVMVirtualMachineNoUsableHostReason = "NoUsableHost"

	// VSphereVMVirtualMachineStoragePolicyNotFoundReason surfaces when vCenter does not have the storage policy, or the account
	// cannot see it.
	VSphereVMVirtualMachineStoragePolicyNotFoundReason = "StoragePolicyNotFound"

	// VSphereVMVirtualMachineNoCompatibleDatastoreReason surfaces when no datastore that the machine can use, or not the named
	// one, is compatible with the storage policy.
	VSphereVMVirtualMachineNoCompatibleDatastoreReason = "NoCompatibleDatastore"

	// VSphereVMVirtualMachineKeyProviderMissingReason surfaces when the machine must be encrypted and vCenter has no key
	// provider, or one that creates no keys.
	VSphereVMVirtualMachineKeyProviderMissingReason = "KeyProviderMissing"

	// VSphereVMVirtualMachineKeyNotFoundReason surfaces when vCenter has neither a key nor a key provider with the name.
	VSphereVMVirtualMachineKeyNotFoundReason = "KeyNotFound"

	// VSphereVMVirtualMachineInvalidSpecReason surfaces when vCenter would reject the spec, for example a disk smaller than the
	// template's.
	VSphereVMVirtualMachineInvalidSpecReason = "InvalidSpec"

	// VSphereVMVirtualMachineDeletingReason surfaces when the machine is being deleted.
	VSphereVMVirtualMachineDeletingReason = clusterv1.DeletingReason

	// VSphereVMVirtualMachineWaitingForHostReason surfaces when the machine's host is disconnected from vCenter, so that the
	// machine can be neither powered on or off nor destroyed.
	VSphereVMVirtualMachineWaitingForHostReason = "WaitingForHost"

	// VSphereVMVirtualMachineUnmanageableReason surfaces when the machine is orphaned, inaccessible or invalid in vCenter,
	// which needs a fix by the user.
	VSphereVMVirtualMachineUnmanageableReason = "Unmanageable"
)

// VSphereVM's VCenterAvailable condition. See also the reasons shared by several kinds.
const (
	// VSphereVMVCenterAvailableCondition is true if the vCenter can be used with the cluster's credentials.
	VSphereVMVCenterAvailableCondition = "VCenterAvailable"
)

// VSphereVM's InFailureDomain condition and corresponding reasons. The condition is not part of Ready: a machine in the wrong
// failure domain is running nevertheless.
const (
	// VSphereVMInFailureDomainCondition is true if the machine runs in the failure domain in which it was placed.
	VSphereVMInFailureDomainCondition = "InFailureDomain"

	// VSphereVMInFailureDomainReason surfaces when the machine runs in its failure domain.
	VSphereVMInFailureDomainReason = "InFailureDomain"

	// VSphereVMOutsideFailureDomainReason surfaces when the machine runs outside of its failure domain.
	VSphereVMOutsideFailureDomainReason = "OutsideFailureDomain"
)

// VSphereVM's VMGroupJoined condition and corresponding reasons, for a VSphereVM that must be in a VM group. The condition is
// not part of Ready: a running machine works without its group, but DRS may move it to a host of another failure domain.
const (
	// VSphereVMVMGroupJoinedCondition is true if the machine is in the VM group of its failure domain.
	VSphereVMVMGroupJoinedCondition = "VMGroupJoined"

	// VSphereVMVMGroupJoinedReason surfaces when the machine is in the VM group.
	VSphereVMVMGroupJoinedReason = "Joined"

	// VSphereVMVMGroupNotFoundReason surfaces when the compute cluster does not have the VM group.
	VSphereVMVMGroupNotFoundReason = VSphereVMVirtualMachineVMGroupNotFoundReason

	// VSphereVMVMGroupNotJoinedReason surfaces when vCenter rejects adding the machine to the VM group.
	VSphereVMVMGroupNotJoinedReason = "NotJoined"
)

// VSphereVM's GuestSoftPowerOffSucceeded condition and corresponding reasons.
const (
	// VSphereVMGuestSoftPowerOffSucceededCondition reports the state of shutting down the guest.
	VSphereVMGuestSoftPowerOffSucceededCondition = "GuestSoftPowerOffSucceeded"

	// VSphereVMGuestSoftPowerOffInProgressReason surfaces after the guest was requested to shut down.
	VSphereVMGuestSoftPowerOffInProgressReason = "InProgress"
)

// VSphereVM's IPAddressClaimsFulfilled condition and corresponding reasons, for a VSphereVM with addresses from pools. For a
// running machine it reports whether its addresses are still allocated to it. It is not part of Ready.
const (
	// VSphereVMIPAddressClaimsFulfilledCondition is true if all addresses from pools are allocated.
	VSphereVMIPAddressClaimsFulfilledCondition = "IPAddressClaimsFulfilled"

	// VSphereVMIPAddressClaimsFulfilledReason surfaces when all addresses are allocated.
	VSphereVMIPAddressClaimsFulfilledReason = "Fulfilled"

	// VSphereVMIPAddressClaimsWaitingForIPAddressReason surfaces when a claim has no address yet.
	VSphereVMIPAddressClaimsWaitingForIPAddressReason = "WaitingForIPAddress"

	// VSphereVMIPAddressClaimsNotFulfilledReason surfaces when a claim cannot get an address, or its address is invalid.
	VSphereVMIPAddressClaimsNotFulfilledReason = "NotFulfilled"
)
