// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2

import (
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Condition VirtualMachineProvisioned of a VSphereVM.
const (
	// VSphereVMVirtualMachineProvisionedCondition tells whether the virtual
	// machine runs and has its addresses.
	VSphereVMVirtualMachineProvisionedCondition = "VirtualMachineProvisioned"

	// VSphereVMVirtualMachineWaitingForBootstrapDataReason: there is no
	// bootstrap data yet.
	VSphereVMVirtualMachineWaitingForBootstrapDataReason = clusterv1.WaitingForBootstrapDataReason

	// VSphereVMVirtualMachineWaitingForStaticIPAllocationReason: a card has
	// neither an address nor a way to get one.
	VSphereVMVirtualMachineWaitingForStaticIPAllocationReason = "WaitingForStaticIPAllocation"

	// VSphereVMVirtualMachineWaitingForIPAddressReason: an address from a pool
	// has not come yet, or cannot be used.
	VSphereVMVirtualMachineWaitingForIPAddressReason = "WaitingForIPAddress"

	// VSphereVMVirtualMachineWaitingForIPAllocationReason: the guest reports no
	// address yet.
	VSphereVMVirtualMachineWaitingForIPAllocationReason = "WaitingForIPAllocation"

	// VSphereVMVirtualMachineWaitingForCloneReason: the clone is under way.
	VSphereVMVirtualMachineWaitingForCloneReason = "WaitingForClone"

	// VSphereVMVirtualMachineConfiguringReason: the guest's metadata is being
	// written.
	VSphereVMVirtualMachineConfiguringReason = "Configuring"

	// VSphereVMVirtualMachineWaitingForVMGroupReason: the machine has not
	// joined the VM group of its failure domain yet.
	VSphereVMVirtualMachineWaitingForVMGroupReason = "WaitingForVMGroup"

	// VSphereVMVirtualMachineWaitingForClusterModuleReason: the VSphereCluster
	// has no cluster module for the machine yet.
	VSphereVMVirtualMachineWaitingForClusterModuleReason = "WaitingForClusterModule"

	// VSphereVMVirtualMachinePoweringOnReason: the machine is being powered
	// on.
	VSphereVMVirtualMachinePoweringOnReason = "PoweringOn"

	// VSphereVMVirtualMachineProvisionedReason: the machine runs and has its
	// addresses.
	VSphereVMVirtualMachineProvisionedReason = clusterv1.ProvisionedReason

	// VSphereVMVirtualMachineNotProvisionedReason: it does not.
	VSphereVMVirtualMachineNotProvisionedReason = clusterv1.NotProvisionedReason

	// VSphereVMVirtualMachineTaskFailedReason: a task failed in vCenter; it is
	// tried again at status.retryAfter.
	VSphereVMVirtualMachineTaskFailedReason = "TaskFailed"

	// VSphereVMVirtualMachineNotFoundByBIOSUUIDReason: the machine was there
	// and is gone. It is not made again.
	VSphereVMVirtualMachineNotFoundByBIOSUUIDReason = "NotFoundByBIOSUUID"

	// VSphereVMVirtualMachineAmbiguousReason: several virtual machines may be the
	// VSphereVM's, and nothing tells which is. None is touched.
	VSphereVMVirtualMachineAmbiguousReason = "Ambiguous"

	// VSphereVMVirtualMachineNotIdentifiedReason: a virtual machine has the BIOS
	// UUID or the reference, but nothing shows that it is the VSphereVM's. It is
	// left alone.
	VSphereVMVirtualMachineNotIdentifiedReason = "NotIdentified"

	// VSphereVMVirtualMachineNotVisibleReason: vCenter has the machine but does
	// not show it to the account.
	VSphereVMVirtualMachineNotVisibleReason = "NotVisible"

	// VSphereVMVirtualMachineNameConflictReason: another virtual machine has
	// the name in the folder. It is left alone.
	VSphereVMVirtualMachineNameConflictReason = "NameConflict"

	// VSphereVMVirtualMachineTemplateNotFoundReason: the template does not
	// exist, or there are several of the name.
	VSphereVMVirtualMachineTemplateNotFoundReason = "TemplateNotFound"

	// VSphereVMVirtualMachineSnapshotNotFoundReason: the template has no
	// snapshot of that name.
	VSphereVMVirtualMachineSnapshotNotFoundReason = "SnapshotNotFound"

	// VSphereVMVirtualMachineDatacenterNotFoundReason: the datacenter does not
	// exist.
	VSphereVMVirtualMachineDatacenterNotFoundReason = DatacenterNotFoundReason

	// VSphereVMVirtualMachineComputeClusterNotFoundReason: the compute cluster
	// does not exist.
	VSphereVMVirtualMachineComputeClusterNotFoundReason = ComputeClusterNotFoundReason

	// VSphereVMVirtualMachineResourcePoolNotFoundReason: the resource pool does
	// not exist, or cannot be told among several.
	VSphereVMVirtualMachineResourcePoolNotFoundReason = ResourcePoolNotFoundReason

	// VSphereVMVirtualMachineFolderNotFoundReason: the folder does not exist.
	VSphereVMVirtualMachineFolderNotFoundReason = FolderNotFoundReason

	// VSphereVMVirtualMachineDatastoreNotFoundReason: the datastore does not
	// exist, or cannot be told among several.
	VSphereVMVirtualMachineDatastoreNotFoundReason = DatastoreNotFoundReason

	// VSphereVMVirtualMachineNetworkNotFoundReason: a network does not exist.
	VSphereVMVirtualMachineNetworkNotFoundReason = NetworkNotFoundReason

	// VSphereVMVirtualMachineTagNotFoundReason: a tag of tagIDs does not exist.
	VSphereVMVirtualMachineTagNotFoundReason = "TagNotFound"

	// VSphereVMVirtualMachineTagRefusedReason: vCenter does not attach a tag of
	// tagIDs to the machine, for the rules of its category.
	VSphereVMVirtualMachineTagRefusedReason = "TagRefused"

	// VSphereVMVirtualMachinePrivilegeMissingReason: the account lacks a
	// privilege.
	VSphereVMVirtualMachinePrivilegeMissingReason = PrivilegeMissingReason

	// VSphereVMVirtualMachineVMGroupNotFoundReason: the compute cluster has no
	// VM group of that name.
	VSphereVMVirtualMachineVMGroupNotFoundReason = "VMGroupNotFound"

	// VSphereVMVirtualMachineOutsideHostGroupReason: the machine is not powered
	// on, because it would run on a host outside of its failure domain.
	VSphereVMVirtualMachineOutsideHostGroupReason = "OutsideHostGroup"

	// VSphereVMVirtualMachineNoUsableHostReason: no host of the host group can
	// take the machine.
	VSphereVMVirtualMachineNoUsableHostReason = "NoUsableHost"

	// VSphereVMVirtualMachineStoragePolicyNotFoundReason: vCenter has no
	// storage policy of the name, or shows the account none.
	VSphereVMVirtualMachineStoragePolicyNotFoundReason = "StoragePolicyNotFound"

	// VSphereVMVirtualMachineNoCompatibleDatastoreReason: the storage policy
	// has no datastore that the machine can use, or not the one that is named.
	VSphereVMVirtualMachineNoCompatibleDatastoreReason = "NoCompatibleDatastore"

	// VSphereVMVirtualMachineKeyProviderMissingReason: the machine shall be
	// encrypted, and vCenter has no key provider, or one that makes no keys.
	VSphereVMVirtualMachineKeyProviderMissingReason = "KeyProviderMissing"

	// VSphereVMVirtualMachineKeyNotFoundReason: vCenter has neither a key nor
	// a key provider of the name.
	VSphereVMVirtualMachineKeyNotFoundReason = "KeyNotFound"

	// VSphereVMVirtualMachineInvalidSpecReason: vCenter would refuse the spec,
	// such as a disk smaller than the template's.
	VSphereVMVirtualMachineInvalidSpecReason = "InvalidSpec"

	// VSphereVMVirtualMachineDeletingReason: the machine is being deleted.
	VSphereVMVirtualMachineDeletingReason = clusterv1.DeletingReason

	// VSphereVMVirtualMachineWaitingForHostReason: vCenter has lost the host of the
	// machine, so that it can neither be switched nor destroyed.
	VSphereVMVirtualMachineWaitingForHostReason = "WaitingForHost"

	// VSphereVMVirtualMachineUnmanageableReason: the machine is orphaned,
	// inaccessible or invalid in vCenter, which does not end by itself.
	VSphereVMVirtualMachineUnmanageableReason = "Unmanageable"
)

// Condition VCenterAvailable of a VSphereVM. See also the reasons that several
// kinds have.
const (
	// VSphereVMVCenterAvailableCondition tells whether the vCenter can be used
	// with the cluster's credentials.
	VSphereVMVCenterAvailableCondition = "VCenterAvailable"
)

// Condition InFailureDomain of a VSphereVM. It says where the machine runs and
// takes no part in Ready: a machine that runs in the wrong place does run.
const (
	// VSphereVMInFailureDomainCondition tells whether the machine runs in the
	// failure domain that it was put in.
	VSphereVMInFailureDomainCondition = "InFailureDomain"

	// VSphereVMInFailureDomainReason: it does.
	VSphereVMInFailureDomainReason = "InFailureDomain"

	// VSphereVMOutsideFailureDomainReason: it runs elsewhere.
	VSphereVMOutsideFailureDomainReason = "OutsideFailureDomain"
)

// Condition VMGroupJoined of a VSphereVM that is to be in a VM group. It is not
// part of Ready: a machine that runs is not worse for the loss of its group,
// but DRS may move it to a host of another failure domain.
const (
	// VSphereVMVMGroupJoinedCondition tells whether the machine is in the VM
	// group of its failure domain.
	VSphereVMVMGroupJoinedCondition = "VMGroupJoined"

	// VSphereVMVMGroupJoinedReason: it is.
	VSphereVMVMGroupJoinedReason = "Joined"

	// VSphereVMVMGroupNotFoundReason: the compute cluster has no VM group of
	// that name.
	VSphereVMVMGroupNotFoundReason = VSphereVMVirtualMachineVMGroupNotFoundReason

	// VSphereVMVMGroupNotJoinedReason: vCenter does not put it in.
	VSphereVMVMGroupNotJoinedReason = "NotJoined"
)

// Condition GuestSoftPowerOffSucceeded of a VSphereVM.
const (
	// VSphereVMGuestSoftPowerOffSucceededCondition tells how shutting down the
	// guest went.
	VSphereVMGuestSoftPowerOffSucceededCondition = "GuestSoftPowerOffSucceeded"

	// VSphereVMGuestSoftPowerOffInProgressReason: the guest was asked.
	VSphereVMGuestSoftPowerOffInProgressReason = "InProgress"
)

// Condition IPAddressClaimsFulfilled of a VSphereVM whose cards have addresses
// from pools. Of a machine that runs it says whether its addresses are still
// kept for it; it takes no part in Ready.
const (
	// VSphereVMIPAddressClaimsFulfilledCondition tells whether all addresses
	// from pools have come.
	VSphereVMIPAddressClaimsFulfilledCondition = "IPAddressClaimsFulfilled"

	// VSphereVMIPAddressClaimsFulfilledReason: they have.
	VSphereVMIPAddressClaimsFulfilledReason = "Fulfilled"

	// VSphereVMIPAddressClaimsWaitingForIPAddressReason: a claim has no address
	// yet.
	VSphereVMIPAddressClaimsWaitingForIPAddressReason = "WaitingForIPAddress"

	// VSphereVMIPAddressClaimsNotFulfilledReason: a claim gets none, or one that
	// cannot be used.
	VSphereVMIPAddressClaimsNotFulfilledReason = "NotFulfilled"
)
