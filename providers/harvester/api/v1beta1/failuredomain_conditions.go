// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Reasons of condition FailureDomainsReady of a HarvesterCluster. A failure
// domain that is not Active because it is unhealthy has one of the waiting
// reasons below.
const (
	// FailureDomainsReadyCondition reports whether Machines can be placed in
	// all failure domains of the cluster.
	FailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// FailureDomainsNotActiveReason surfaces when an unhealthy failure domain
	// receives no Machines.
	FailureDomainsNotActiveReason = faultlinev1.ReasonDomainsNotActive

	// LastControlPlaneDomainReason surfaces when the last failure domain for
	// control planes is kept although it should be removed.
	LastControlPlaneDomainReason = faultlinev1.ReasonLastControlPlaneDomain
)

// Reasons for a Machine to wait for a failure domain or host. They surface on
// condition MachineCreated of a HarvesterMachine, the last one on
// VMProvisioningReady, and some of them on the failure domains of a
// HarvesterCluster. WaitsFor in package placement lists them all.
const (
	// FailureDomainNotFoundReason surfaces when neither the HarvesterCluster
	// nor a host of Harvester has a failure domain of the name.
	FailureDomainNotFoundReason = "FailureDomainNotFound"

	// FailureDomainNotReadyReason surfaces when the failure domain is
	// Cordoned or Evicting.
	FailureDomainNotReadyReason = faultlinev1.ReasonFailureDomainNotReady

	// FailureDomainNotNamedReason surfaces when a control plane Machine names
	// no failure domain although its cluster has failure domains for control
	// planes.
	FailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed

	// FailureDomainNotAssignedReason surfaces when a worker Machine names no
	// failure domain and has not been assigned one yet.
	FailureDomainNotAssignedReason = faultlinev1.ReasonFailureDomainNotAssigned

	// FailureDomainWithoutHostsReason surfaces when no host of Harvester has
	// the label of the failure domain.
	FailureDomainWithoutHostsReason = "FailureDomainWithoutHosts"

	// FailureDomainHostsUnhealthyReason surfaces when no host of the failure
	// domain is ready.
	FailureDomainHostsUnhealthyReason = "FailureDomainHostsUnhealthy"

	// FailureDomainHostsCordonedReason surfaces when all ready hosts of the
	// failure domain are cordoned or have a taint that repels virtual
	// machines.
	FailureDomainHostsCordonedReason = "FailureDomainHostsCordoned"

	// AffinityImpossibleReason surfaces when no host of the failure domain
	// satisfies spec.nodeAffinity.
	AffinityImpossibleReason = "AffinityImpossible"

	// VMUnschedulableReason surfaces when no eligible host has enough
	// capacity for the virtual machine.
	VMUnschedulableReason = "VMUnschedulable"
)

// Events of a HarvesterCluster about its failure domains.
const (
	// FailureDomainSingleHostReason is used when a failure domain has a
	// single host: its machines cannot be migrated and are shut down when the
	// host is upgraded.
	FailureDomainSingleHostReason = "FailureDomainSingleHost"
)

// Condition FailureDomainUnlisted of a HarvesterMachine exists only while the
// Machine names a failure domain that the HarvesterCluster does not list. The
// virtual machine stays restricted to that failure domain, and the condition
// does not affect Ready.
const (
	// FailureDomainUnlistedCondition names the unlisted failure domain.
	FailureDomainUnlistedCondition = "FailureDomainUnlisted"

	// FailureDomainUnlistedReason surfaces when the HarvesterCluster does not
	// list the failure domain.
	FailureDomainUnlistedReason = "FailureDomainUnlisted"
)
