// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

// FailureDomainsReadyCondition is True on the infrastructure cluster while every failure domain that the user has not withdrawn
// is Active and healthy.
const FailureDomainsReadyCondition = "FailureDomainsReady"

// Reasons of FailureDomainsReadyCondition and of single domains. If a domain is not Active because of its health, its reason is
// the provider's own, such as DatastoreNotFound; the first four below are used if the provider gives none.
const (
	// ReasonUnhealthy surfaces when the domain is unhealthy.
	ReasonUnhealthy = "Unhealthy"
	// ReasonNotYetHealthy surfaces when the domain is new and has never been seen healthy.
	ReasonNotYetHealthy = "NotYetHealthy"
	// ReasonLookupFailed surfaces when the domain could not be looked up; its last known state is kept.
	ReasonLookupFailed = "LookupFailed"
	// ReasonHoldPeriod surfaces when the domain is healthy again, but not yet for the hold period.
	ReasonHoldPeriod = "HoldPeriod"

	// ReasonCordonRequested surfaces when the user wants the domain Cordoned.
	ReasonCordonRequested = "CordonRequested"
	// ReasonEvictionRequested surfaces when the user wants the domain Evicting.
	ReasonEvictionRequested = "EvictionRequested"

	// ReasonDomainDeleting surfaces when the domain is being deleted.
	ReasonDomainDeleting = "DomainDeleting"
	// ReasonDomainRemoved surfaces when the domain was removed from the cluster, but was among the last that took control-plane
	// machines.
	ReasonDomainRemoved = "DomainRemoved"

	// ReasonTooManyDomainsUnhealthy surfaces when more than half of the domains turned unhealthy at once. The observation is then
	// more likely at fault than the domains, so no domain is cordoned for its health. A repaired domain still becomes Active.
	ReasonTooManyDomainsUnhealthy = "TooManyDomainsUnhealthy"
	// ReasonLastControlPlaneDomain surfaces when the domain should not take control-plane machines, but stays published for them
	// because no other domain can take them.
	ReasonLastControlPlaneDomain = "LastControlPlaneDomain"
	// ReasonNoControlPlaneDomain surfaces when no domain takes control-plane machines yet.
	ReasonNoControlPlaneDomain = "NoControlPlaneDomain"

	// ReasonDomainsNotActive surfaces when some domains are not Active because of their health.
	ReasonDomainsNotActive = "DomainsNotActive"
	// ReasonAllActive surfaces when every domain that the user has not withdrawn is Active.
	ReasonAllActive = "AllActive"
	// ReasonNoFailureDomains surfaces when the cluster has no failure domains.
	ReasonNoFailureDomains = "NoFailureDomains"
	// ReasonTooManyFailureDomains surfaces when the cluster has more failure domains than can be published. The previously
	// published domains are kept.
	ReasonTooManyFailureDomains = "TooManyFailureDomains"
)

// ReasonFailureDomainNotReady surfaces on a machine that waits because its failure domain is Cordoned or Evicting.
const ReasonFailureDomainNotReady = "FailureDomainNotReady"

// ReasonFailureDomainNotNamed surfaces on a control-plane machine that waits because it names no failure domain although its
// cluster has failure domains for control planes.
const ReasonFailureDomainNotNamed = "FailureDomainNotNamed"

// ReasonFailureDomainNotAssigned surfaces on a worker that waits because it names no failure domain and has not been assigned one
// yet.
const ReasonFailureDomainNotAssigned = "FailureDomainNotAssigned"

// ControlPlaneBalancedCondition is True on the infrastructure cluster while its control-plane machines are spread over the
// failure domains as they should be.
const ControlPlaneBalancedCondition = "ControlPlaneBalanced"

// Reasons of ControlPlaneBalancedCondition. Several reasons can block a move: the condition has the first, its message lists all.
const (
	// ReasonBalanced surfaces when no machine should be moved.
	ReasonBalanced = "Balanced"
	// ReasonNotBalanced surfaces when machines should be moved, and spec.distribution does not let Faultline move them.
	ReasonNotBalanced = "NotBalanced"
	// ReasonMoving surfaces when a machine is being moved.
	ReasonMoving = "Moving"
	// ReasonAbortingMove surfaces when a move is being reverted.
	ReasonAbortingMove = "AbortingMove"
	// ReasonMoveRecordInvalid surfaces when the record of a move on the infrastructure cluster cannot be parsed.
	ReasonMoveRecordInvalid = "MoveRecordInvalid"
	// ReasonRemediationLeftOver surfaces when the control plane replaces no unhealthy machine, because it still has the
	// annotation of a finished remediation. It is never the reason of the condition: the message contains it, whatever the reason
	// is.
	ReasonRemediationLeftOver = "RemediationLeftOver"
	// ReasonNoControlPlaneMachines surfaces when there are no control-plane machines.
	ReasonNoControlPlaneMachines = "NoControlPlaneMachines"

	// ReasonNoRoom surfaces when machines should be moved, but the failure domains have no capacity for them.
	ReasonNoRoom = "NoRoom"
	// ReasonNoActiveFailureDomain surfaces when no failure domain for control planes is Active.
	ReasonNoActiveFailureDomain = "NoActiveFailureDomain"
	// ReasonRolledOut surfaces when the machines have been replaced once since the failure domains changed, or are about to be.
	ReasonRolledOut = "RolledOut"

	// ReasonClusterPaused surfaces when the Cluster, or its infrastructure cluster, is paused.
	ReasonClusterPaused = "ClusterPaused"
	// ReasonClusterDeleting surfaces when the Cluster, or its infrastructure cluster, is being deleted.
	ReasonClusterDeleting = "ClusterDeleting"
	// ReasonControlPlaneNotSupported surfaces when the control plane is of a kind that cannot replace a single machine on
	// request.
	ReasonControlPlaneNotSupported = "ControlPlaneNotSupported"
	// ReasonControlPlaneVersionNotTested surfaces when the version of the control plane provider is unknown, or has not been
	// tested to replace single machines correctly.
	ReasonControlPlaneVersionNotTested = "ControlPlaneVersionNotTested"
	// ReasonControlPlaneDeleting surfaces when the control plane is being deleted.
	ReasonControlPlaneDeleting = "ControlPlaneDeleting"
	// ReasonControlPlanePaused surfaces when the control plane is paused.
	ReasonControlPlanePaused = "ControlPlanePaused"
	// ReasonEvenReplicas surfaces when the control plane has an even number of desired replicas.
	ReasonEvenReplicas = "EvenReplicas"
	// ReasonNoSurge surfaces when the control plane would delete a machine before it creates its replacement.
	ReasonNoSurge = "NoSurge"
	// ReasonControlPlaneNotObserved surfaces when the status of the control plane does not reflect its current spec.
	ReasonControlPlaneNotObserved = "ControlPlaneNotObserved"
	// ReasonControlPlaneRollingOut surfaces when machines are being replaced for other reasons.
	ReasonControlPlaneRollingOut = "ControlPlaneRollingOut"
	// ReasonControlPlaneScaling surfaces when the number of machines differs from the desired replicas.
	ReasonControlPlaneScaling = "ControlPlaneScaling"
	// ReasonMachineDeleting surfaces when a machine is being deleted.
	ReasonMachineDeleting = "MachineDeleting"
	// ReasonControlPlaneRemediating surfaces when an unhealthy machine is being replaced, or is about to be.
	ReasonControlPlaneRemediating = "ControlPlaneRemediating"
	// ReasonMachineNotReady surfaces when a machine is not Ready, or has no Node.
	ReasonMachineNotReady = "MachineNotReady"
	// ReasonControlPlaneUnhealthy surfaces when etcd or the components of the control plane are not known to be healthy.
	ReasonControlPlaneUnhealthy = "ControlPlaneUnhealthy"
	// ReasonMachineMarked surfaces when the user or another controller has marked a machine as the one to be deleted first.
	ReasonMachineMarked = "MachineMarked"
	// ReasonInfrastructureMachineUnexpected surfaces when an infrastructure machine belongs to another provider, or is not known
	// to be cloned from the control plane's template.
	ReasonInfrastructureMachineUnexpected = "InfrastructureMachineUnexpected"
	// ReasonFailureDomainIntentInvalid surfaces when spec.distribution.failureDomains names a domain that does not exist, or has
	// conflicting entries.
	ReasonFailureDomainIntentInvalid = "FailureDomainIntentInvalid"
	// ReasonStabilizing surfaces when the failure domains have changed within the stabilization window.
	ReasonStabilizing = "Stabilizing"
	// ReasonTargetNotAvailable surfaces when the control plane would create the replacement in a domain where it cannot run, or
	// where the move gains nothing.
	ReasonTargetNotAvailable = "TargetNotAvailable"
	// ReasonControlPlaneDoesNotMove surfaces when the control plane did not react to the request to replace a machine.
	ReasonControlPlaneDoesNotMove = "ControlPlaneDoesNotMove"
	// ReasonAnnotationsRemoved surfaces when an admission policy or webhook, or another writer, removes the annotations that a
	// move writes.
	ReasonAnnotationsRemoved = "AnnotationsRemoved"
)

// MetadataKeptCondition is False, with ReasonAnnotationsRemoved, on an object while another writer removes or changes
// annotations, labels or finalizers that its controller writes. It is absent while they are kept.
const MetadataKeptCondition = "MetadataKept"

// QuorumProtectedCondition is set on the infrastructure cluster while spec.distribution.controlPlane.protectQuorum is true and
// there are control-plane machines. It is True while each of them is held when its deletion would risk the quorum.
const QuorumProtectedCondition = "QuorumProtected"

// Reasons of QuorumProtectedCondition.
const (
	// ReasonQuorumProtected surfaces when Faultline's hook protects the quorum.
	ReasonQuorumProtected = "QuorumProtected"
	// ReasonProtectedByControlPlane surfaces when the control plane has a hook of its own, so protectQuorum has no effect.
	ReasonProtectedByControlPlane = "ProtectedByControlPlane"
	// ReasonQuorumNotProtected surfaces when some or all machines do not get Faultline's hook. If they get it and another writer
	// removes it, the reason is ReasonAnnotationsRemoved.
	ReasonQuorumNotProtected = "QuorumNotProtected"
)

// WorkersBalancedCondition is True on the infrastructure cluster while the machines of all MachineDeployments that name no
// failure domain are spread as they should be.
const WorkersBalancedCondition = "WorkersBalanced"

// ReasonWorkersWaiting surfaces in WorkersBalancedCondition when machines wait for a failure domain because none may receive
// them. The condition's other reasons are ReasonNoFailureDomains, ReasonMoving, ReasonNotBalanced, ReasonBalanced and
// ReasonAnnotationsRemoved.
const ReasonWorkersWaiting = "WorkersWaiting"

// MachinesInPlaceCondition is True on the infrastructure cluster while every machine is in its requested failure domain, as far
// as the infrastructure has reported its placement.
const MachinesInPlaceCondition = "MachinesInPlace"

// Reasons of MachinesInPlaceCondition.
const (
	// ReasonMachinesInPlace surfaces when no machine is in another failure domain than requested.
	ReasonMachinesInPlace = "MachinesInPlace"
	// ReasonMachinesElsewhere surfaces when some machines are in another failure domain than requested.
	ReasonMachinesElsewhere = "MachinesElsewhere"
)

// MaxFailureDomains is the maximum number of failure domains of a cluster.
const MaxFailureDomains = 100
