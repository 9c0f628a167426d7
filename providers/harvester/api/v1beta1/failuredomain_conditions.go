// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Condition FailureDomainsReady of a HarvesterCluster. A domain that is not
// Active for its health has one of the reasons that follow.
const (
	// FailureDomainsReadyCondition tells whether machines can be put in all of
	// the cluster's failure domains.
	FailureDomainsReadyCondition = faultlinev1.FailureDomainsReadyCondition

	// FailureDomainsNotActiveReason: a domain receives none for its health.
	FailureDomainsNotActiveReason = faultlinev1.ReasonDomainsNotActive

	// LastControlPlaneDomainReason: the last domain of control planes is kept
	// although it should go.
	LastControlPlaneDomainReason = faultlinev1.ReasonLastControlPlaneDomain
)

// Reasons why a machine waits for a place. Condition MachineCreated of a
// HarvesterMachine has them, VMProvisioningReady the last, and domains of a HarvesterCluster some. WaitsFor of
// package placement lists them all.
const (
	// FailureDomainNotFoundReason: the HarvesterCluster has no domain of the
	// name, and Harvester no host of it.
	FailureDomainNotFoundReason = "FailureDomainNotFound"

	// FailureDomainNotReadyReason: the domain is Cordoned or Evicting.
	FailureDomainNotReadyReason = faultlinev1.ReasonFailureDomainNotReady

	// FailureDomainNotNamedReason: a control plane's Machine names no domain,
	// although its cluster has some for control planes.
	FailureDomainNotNamedReason = faultlinev1.ReasonFailureDomainNotNamed

	// FailureDomainNotAssignedReason: a worker's Machine names no domain and has
	// not been assigned one yet.
	FailureDomainNotAssignedReason = faultlinev1.ReasonFailureDomainNotAssigned

	// FailureDomainWithoutHostsReason: no host of Harvester has the label of the
	// domain.
	FailureDomainWithoutHostsReason = "FailureDomainWithoutHosts"

	// FailureDomainHostsUnhealthyReason: no host of the domain is ready.
	FailureDomainHostsUnhealthyReason = "FailureDomainHostsUnhealthy"

	// FailureDomainHostsCordonedReason: the hosts of the domain that are ready
	// are cordoned, or have a taint against virtual machines.
	FailureDomainHostsCordonedReason = "FailureDomainHostsCordoned"

	// AffinityImpossibleReason: no host of the failure domain suits
	// spec.nodeAffinity.
	AffinityImpossibleReason = "AffinityImpossible"

	// VMUnschedulableReason: no host has room for the virtual machine where it
	// may be.
	VMUnschedulableReason = "VMUnschedulable"
)

// Events of a HarvesterCluster about its failure domains.
const (
	// FailureDomainSingleHostReason: the domain has a single host, so that its
	// machines cannot be migrated and are shut down when it is upgraded.
	FailureDomainSingleHostReason = "FailureDomainSingleHost"
)

// Condition FailureDomainUnlisted of a HarvesterMachine is there only while the
// Machine names a failure domain that the HarvesterCluster does not list. The
// machine is kept to it, and is no less ready for it.
const (
	// FailureDomainUnlistedCondition tells which it is.
	FailureDomainUnlistedCondition = "FailureDomainUnlisted"

	// FailureDomainUnlistedReason: the HarvesterCluster has no domain of that
	// name.
	FailureDomainUnlistedReason = "FailureDomainUnlisted"
)
