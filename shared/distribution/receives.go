// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Pending configures what a provider does with a machine whose domain has never been seen healthy.
type Pending bool

const (
	// PendingRefuses keeps machines out until the domain has been seen healthy once. Use it if a machine's infrastructure is
	// created as soon as the machine is placed, because a domain that was never healthy may not exist.
	PendingRefuses Pending = false
	// PendingWaits accepts machines. Use it only if the provider can let a machine wait inside its domain, without creating anything,
	// until the domain has the required resources. A domain of bare-metal hosts is an example: it was never healthy because none of
	// its hosts was ever ready, and a waiting machine gets the first host that is. If the machine were refused, it would wait for
	// the same host, but its condition would report the domain instead of the hosts.
	PendingWaits Pending = true
)

// Refusal holds the reason and message of a condition that reports why a machine must not be created now; the zero value refuses
// nothing. A provider's Waits list the reasons that end when there is capacity for the machine.
type Refusal struct{ Reason, Message string }

// Waits lists the reasons with which a condition of the provider's machines, while it is False, reports that a machine waits for
// placement. Such machines are counted, and their cluster is reconciled when the wait begins and ends. Leave Reasons nil to match
// every reason, if the condition reports nothing else.
type Waits struct {
	Condition string
	Reasons   []string
}

// For returns the reason for which the machine waits for placement; "" if it does not wait.
func (w Waits) For(machine conditions.Getter) string {
	reason := conditions.GetReason(machine, w.Condition)
	if !conditions.IsFalse(machine, w.Condition) || w.Reasons != nil && !slices.Contains(w.Reasons, reason) {
		return ""
	}
	return reason
}

// Receives returns the state of a domain and whether a machine may be placed in it now: it may if the state is Active. Otherwise
// the refusal has the reason that the provider observed, such as FailureDomainWithoutHosts, if the domain is Cordoned for that
// reason, and FailureDomainNotReady otherwise.
//
// A withdrawal in the spec takes effect before the status reports it, because the evaluation may lag behind. A state in the
// status remains in effect until an evaluation changes it. A domain that the status does not list has the state of the spec; the
// provider must check whether it exists. A domain that is only published for control planes because it is the last one does not
// receive machines.
func Receives(
	wanted faultlinev1.Distribution, known faultlinev1.DistributionStatus, domain string, pending Pending,
) (faultlinev1.DomainState, Refusal) {
	for i := range known.FailureDomains {
		seen := &known.FailureDomains[i]
		if seen.Name != domain || seen.State == "" || seen.State == faultlinev1.DomainActive ||
			bool(pending) && seen.Health == faultlinev1.DomainPending {
			continue
		}
		return seen.State, Refusal{Reason: refusalOf(seen), Message: fmt.Sprintf(
			"failure domain %s is %s and receives no machines: %s%s", domain, seen.State, seen.Message, fix(seen.State, seen.Reason))}
	}
	state := wanted.Intent(domain)
	if state == faultlinev1.DomainActive {
		return state, Refusal{}
	}
	return state, Refusal{Reason: faultlinev1.ReasonFailureDomainNotReady, Message: fmt.Sprintf(
		"failure domain %s will be %s and receives no machines, as set in spec.distribution%s", domain, state, fix(state, faultlinev1.ReasonCordonRequested))}
}

// refusalOf returns the reason that a provider has observed. Reasons that package distribution sets, and failed lookups, do not
// concern the domain's hosts and become FailureDomainNotReady.
func refusalOf(seen *faultlinev1.DomainStatus) string {
	switch seen.Reason {
	case "", faultlinev1.ReasonUnhealthy, faultlinev1.ReasonNotYetHealthy, faultlinev1.ReasonLookupFailed, faultlinev1.ReasonHoldPeriod,
		faultlinev1.ReasonCordonRequested, faultlinev1.ReasonEvictionRequested, faultlinev1.ReasonDomainDeleting, faultlinev1.ReasonDomainRemoved,
		faultlinev1.ReasonTooManyDomainsUnhealthy, faultlinev1.ReasonLastControlPlaneDomain:
		return faultlinev1.ReasonFailureDomainNotReady
	}
	if !seen.StaleSince.IsZero() {
		return faultlinev1.ReasonFailureDomainNotReady
	}
	return seen.Reason
}

// fix returns the fix for a machine whose requested domain is being emptied, or is cordoned by the user: its failure domain is
// not chosen again. A domain that is cordoned for its health may recover by itself.
func fix(state faultlinev1.DomainState, reason string) string {
	if state != faultlinev1.DomainEvicting && reason != faultlinev1.ReasonCordonRequested {
		return ""
	}
	return "; let it receive machines again, or delete the Machine: its control plane creates another one in another failure domain"
}
