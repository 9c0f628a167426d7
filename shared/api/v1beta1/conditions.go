// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// FailureDomainsReadyCondition is True on the infrastructure cluster while every
// failure domain that the user has not withdrawn is Active and healthy.
const FailureDomainsReadyCondition = "FailureDomainsReady"

// Reasons of FailureDomainsReadyCondition and of single domains. Where a domain
// is not Active for its health, its reason is the provider's own, such as
// DatastoreNotFound; the first four below stand in when the provider has none.
const (
	// ReasonUnhealthy: the domain is unhealthy.
	ReasonUnhealthy = "Unhealthy"
	// ReasonNotYetHealthy: the domain is new and has never been seen healthy.
	ReasonNotYetHealthy = "NotYetHealthy"
	// ReasonLookupFailed: the domain could not be looked up; what was known
	// before is kept.
	ReasonLookupFailed = "LookupFailed"
	// ReasonHoldPeriod: the domain is healthy again, but not yet for the hold period.
	ReasonHoldPeriod = "HoldPeriod"

	// ReasonCordonRequested: the user wants the domain Cordoned.
	ReasonCordonRequested = "CordonRequested"
	// ReasonEvictionRequested: the user wants the domain Evicting.
	ReasonEvictionRequested = "EvictionRequested"

	// ReasonDomainDeleting: the domain is being deleted.
	ReasonDomainDeleting = "DomainDeleting"
	// ReasonDomainRemoved: the domain is none of the cluster's any more, but it was
	// among the last that took control-plane machines.
	ReasonDomainRemoved = "DomainRemoved"

	// ReasonTooManyDomainsUnhealthy: more than half of the domains turned
	// unhealthy at once. That is more likely a fault of the view than of the
	// domains, so no domain is cordoned for its health. One that is repaired becomes Active all the same.
	ReasonTooManyDomainsUnhealthy = "TooManyDomainsUnhealthy"
	// ReasonLastControlPlaneDomain: the domain should not take control-plane
	// machines, but stays published as one that does, because no other can.
	ReasonLastControlPlaneDomain = "LastControlPlaneDomain"
	// ReasonNoControlPlaneDomain: no domain takes control-plane machines yet.
	ReasonNoControlPlaneDomain = "NoControlPlaneDomain"

	// ReasonDomainsNotActive: some domains are not Active for their health.
	ReasonDomainsNotActive = "DomainsNotActive"
	// ReasonAllActive: every domain that the user has not withdrawn is Active.
	ReasonAllActive = "AllActive"
	// ReasonNoFailureDomains: the cluster has no failure domains.
	ReasonNoFailureDomains = "NoFailureDomains"
	// ReasonTooManyFailureDomains: the cluster has more failure domains than can be
	// published. What was published before stays.
	ReasonTooManyFailureDomains = "TooManyFailureDomains"
)

// ReasonFailureDomainNotReady is why a machine waits whose failure domain is Cordoned or Evicting.
const ReasonFailureDomainNotReady = "FailureDomainNotReady"

// ReasonFailureDomainNotNamed is why a control-plane machine waits that names no
// failure domain although its cluster has some for control planes.
const ReasonFailureDomainNotNamed = "FailureDomainNotNamed"

// ReasonFailureDomainNotAssigned is why a worker waits that names no failure domain and has not been assigned one yet.
const ReasonFailureDomainNotAssigned = "FailureDomainNotAssigned"

// ControlPlaneBalancedCondition is True on the infrastructure cluster while its control-plane machines are spread over the failure
// domains as they should be.
const ControlPlaneBalancedCondition = "ControlPlaneBalanced"

// Reasons of ControlPlaneBalancedCondition. Several can be against a move: the condition has the first, its message all.
const (
	// ReasonBalanced: nothing is to be moved.
	ReasonBalanced = "Balanced"
	// ReasonNotBalanced: machines should be moved, and nobody has asked Faultline to do it.
	ReasonNotBalanced = "NotBalanced"
	// ReasonMoving: a machine is being moved.
	ReasonMoving = "Moving"
	// ReasonAbortingMove: a move is being taken back.
	ReasonAbortingMove = "AbortingMove"
	// ReasonMoveRecordInvalid: the record of a move on the infrastructure cluster cannot be read.
	ReasonMoveRecordInvalid = "MoveRecordInvalid"
	// ReasonRemediationLeftOver: the control plane replaces no unhealthy machine, as it still has the annotation of a remediation that has ended.
	// It is no reason of the condition: the message has it, whatever the reason is.
	ReasonRemediationLeftOver = "RemediationLeftOver"
	// ReasonNoControlPlaneMachines: there are no control-plane machines.
	ReasonNoControlPlaneMachines = "NoControlPlaneMachines"

	// ReasonNoRoom: machines should be moved, and the failure domains have no room for them.
	ReasonNoRoom = "NoRoom"
	// ReasonNoActiveFailureDomain: no failure domain for control planes is Active.
	ReasonNoActiveFailureDomain = "NoActiveFailureDomain"
	// ReasonRolledOut: the machines have been replaced once since the failure domains changed, or are about to be.
	ReasonRolledOut = "RolledOut"

	// ReasonClusterPaused: the Cluster, or its infrastructure cluster, is paused.
	ReasonClusterPaused = "ClusterPaused"
	// ReasonClusterDeleting: the Cluster, or its infrastructure cluster, is being deleted.
	ReasonClusterDeleting = "ClusterDeleting"
	// ReasonControlPlaneNotSupported: the control plane is none that can be asked to replace one machine.
	ReasonControlPlaneNotSupported = "ControlPlaneNotSupported"
	// ReasonControlPlaneVersionNotTested: the version of the control plane's provider is none with which single machines are known to be
	// replaced as they should, or is not known.
	ReasonControlPlaneVersionNotTested = "ControlPlaneVersionNotTested"
	// ReasonControlPlaneDeleting: the control plane is being deleted.
	ReasonControlPlaneDeleting = "ControlPlaneDeleting"
	// ReasonControlPlanePaused: the control plane is paused.
	ReasonControlPlanePaused = "ControlPlanePaused"
	// ReasonEvenReplicas: the control plane is to have an even number of machines.
	ReasonEvenReplicas = "EvenReplicas"
	// ReasonNoSurge: the control plane would delete a machine before it creates its replacement.
	ReasonNoSurge = "NoSurge"
	// ReasonControlPlaneNotObserved: what the control plane reports is not about its current spec.
	ReasonControlPlaneNotObserved = "ControlPlaneNotObserved"
	// ReasonControlPlaneRollingOut: machines are being replaced for other reasons.
	ReasonControlPlaneRollingOut = "ControlPlaneRollingOut"
	// ReasonControlPlaneScaling: there are not as many machines as there are to be.
	ReasonControlPlaneScaling = "ControlPlaneScaling"
	// ReasonMachineDeleting: a machine is being deleted.
	ReasonMachineDeleting = "MachineDeleting"
	// ReasonControlPlaneRemediating: an unhealthy machine is being replaced, or is about to be.
	ReasonControlPlaneRemediating = "ControlPlaneRemediating"
	// ReasonMachineNotReady: a machine is not Ready, or has no Node.
	ReasonMachineNotReady = "MachineNotReady"
	// ReasonControlPlaneUnhealthy: etcd or the components of the control plane are not known to be healthy.
	ReasonControlPlaneUnhealthy = "ControlPlaneUnhealthy"
	// ReasonMachineMarked: somebody has marked a machine as the one to be deleted first.
	ReasonMachineMarked = "MachineMarked"
	// ReasonInfrastructureMachineUnexpected: an infrastructure machine is another provider's, or not known to be cloned from the
	// control plane's template.
	ReasonInfrastructureMachineUnexpected = "InfrastructureMachineUnexpected"
	// ReasonFailureDomainIntentInvalid: spec.distribution.failureDomains names what is no domain, or contradicts itself.
	ReasonFailureDomainIntentInvalid = "FailureDomainIntentInvalid"
	// ReasonStabilizing: the failure domains have changed not long ago.
	ReasonStabilizing = "Stabilizing"
	// ReasonTargetNotAvailable: the replacement would go where it cannot be, or where nothing is gained.
	ReasonTargetNotAvailable = "TargetNotAvailable"
	// ReasonControlPlaneDoesNotMove: the control plane was asked to replace a machine and did not react.
	ReasonControlPlaneDoesNotMove = "ControlPlaneDoesNotMove"
	// ReasonAnnotationsRemoved: a policy or webhook of the API server, or somebody else, removes the annotations that a move writes.
	ReasonAnnotationsRemoved = "AnnotationsRemoved"
)

// MetadataKeptCondition is False, with ReasonAnnotationsRemoved, on an object while somebody removes or changes annotations, labels or finalizers that its
// controller writes. It is not there while they are kept.
const MetadataKeptCondition = "MetadataKept"

// QuorumProtectedCondition is on the infrastructure cluster while spec.distribution.controlPlane.protectQuorum is true and there are
// control-plane machines. It is True while each of them is held when its deletion would risk the quorum.
const QuorumProtectedCondition = "QuorumProtected"

// Reasons of QuorumProtectedCondition.
const (
	// ReasonQuorumProtected: Faultline's hook sees to it.
	ReasonQuorumProtected = "QuorumProtected"
	// ReasonProtectedByControlPlane: the control plane has a hook of its own, and protectQuorum has no effect.
	ReasonProtectedByControlPlane = "ProtectedByControlPlane"
	// ReasonQuorumNotProtected: some machines, or all, do not get Faultline's hook. It is ReasonAnnotationsRemoved where they get it and somebody
	// removes it.
	ReasonQuorumNotProtected = "QuorumNotProtected"
)

// WorkersBalancedCondition is True on the infrastructure cluster while the machines of all MachineDeployments that name no
// failure domain are spread as they should be.
const WorkersBalancedCondition = "WorkersBalanced"

// ReasonWorkersWaiting is the reason of WorkersBalancedCondition while machines wait for a failure domain, because none may receive
// them. Its other reasons are ReasonNoFailureDomains, ReasonMoving, ReasonNotBalanced, ReasonBalanced and ReasonAnnotationsRemoved.
const ReasonWorkersWaiting = "WorkersWaiting"

// MachinesInPlaceCondition is True on the infrastructure cluster while every machine is in the failure domain that its Machine names,
// as far as the infrastructure has reported where it is.
const MachinesInPlaceCondition = "MachinesInPlace"

// Reasons of MachinesInPlaceCondition.
const (
	// ReasonMachinesInPlace: no machine is elsewhere.
	ReasonMachinesInPlace = "MachinesInPlace"
	// ReasonMachinesElsewhere: some machines are elsewhere than they were asked to be.
	ReasonMachinesElsewhere = "MachinesElsewhere"
)

// MaxFailureDomains is how many failure domains a cluster can have.
const MaxFailureDomains = 100
