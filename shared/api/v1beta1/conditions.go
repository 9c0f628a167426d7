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
	// domains, so no domain changes its state for its health.
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

// ReasonFailureDomainNotNamed is why a control-plane machine waits that names no
// failure domain although its cluster has some for control planes.
const ReasonFailureDomainNotNamed = "FailureDomainNotNamed"

// ReasonFailureDomainNotAssigned is why a worker waits that names no failure domain and has not been assigned one yet.
const ReasonFailureDomainNotAssigned = "FailureDomainNotAssigned"

// ControlPlaneBalancedCondition is True on the infrastructure cluster while its control-plane machines are spread over the failure
// domains as they should be.
const ControlPlaneBalancedCondition = "ControlPlaneBalanced"

// WorkersBalancedCondition is True on the infrastructure cluster while the machines of all MachineDeployments that name no
// failure domain are spread as they should be.
const WorkersBalancedCondition = "WorkersBalanced"

// MaxFailureDomains is how many failure domains a cluster can have.
const MaxFailureDomains = 100
