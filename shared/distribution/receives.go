// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"fmt"
	"slices"

	"sigs.k8s.io/cluster-api/util/conditions"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Pending is what a provider does with a machine whose domain has never been seen healthy.
type Pending bool

const (
	// PendingRefuses keeps machines out until the domain has been seen healthy once. It is right wherever a machine that is put
	// into a domain is built there at once, from what the domain is said to consist of: nothing has shown yet that it is there.
	PendingRefuses Pending = false
	// PendingWaits lets machines in. It is right only where the provider lets a machine wait inside its domain, without anything
	// being built, until the domain has what it needs. A domain of bare-metal hosts is such a one: it has never been healthy because
	// none of its hosts was ever ready, and a machine that waits there gets the first that is. Kept out it would wait for the
	// same host, and be told of the domain rather than of its hosts.
	PendingWaits Pending = true
)

// Refusal is why nothing is made of a machine now, as a condition of it shows; the zero value refuses nothing. The provider's Waits are those
// that end when there is a place for the machine.
type Refusal struct{ Reason, Message string }

// Waits are the reasons with which a condition of a provider's machines, while it is False, shows that they wait for a place: such machines are
// counted, and their cluster is reconciled when that begins and ends. No reasons are all: the condition is about nothing else.
type Waits struct {
	Condition string
	Reasons   []string
}

// For returns the reason for which the machine waits for a place; "" when it does not.
func (w Waits) For(machine conditions.Getter) string {
	reason := conditions.GetReason(machine, w.Condition)
	if !conditions.IsFalse(machine, w.Condition) || w.Reasons != nil && !slices.Contains(w.Reasons, reason) {
		return ""
	}
	return reason
}

// Receives is the answer to whether a cluster may put a machine into a domain now: it may if the state is Active. Otherwise the refusal has the
// reason that the provider has observed, such as FailureDomainWithoutHosts, if that is why the domain is Cordoned, else FailureDomainNotReady.
//
// What the user wants counts before the status says so, as far as it withdraws the domain: an evaluation may be behind it. What
// the status says counts until an evaluation has changed it. A domain that the status does not list is what the user wants it to
// be; whether it exists is for the provider to say. That a domain is published for control planes because it is the last does not
// make it receive machines.
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
			"failure domain %s is %s and receives no machines: %s%s", domain, seen.State, seen.Message, wayOut(seen.State, seen.Reason))}
	}
	state := wanted.Intent(domain)
	if state == faultlinev1.DomainActive {
		return state, Refusal{}
	}
	return state, Refusal{Reason: faultlinev1.ReasonFailureDomainNotReady, Message: fmt.Sprintf(
		"failure domain %s is to be %s and receives no machines: spec.distribution asks for it%s", domain, state, wayOut(state, faultlinev1.ReasonCordonRequested))}
}

// refusalOf keeps the reason that a provider has observed. What package distribution has decided, or could not look at, is not a reason of the
// domain's hosts.
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

// wayOut is for a machine that is asked to be in a domain which is being emptied, or is cordoned because somebody wants it: nobody asks a
// second time where the machine is to be. A domain that is cordoned for its health may come back by itself.
func wayOut(state faultlinev1.DomainState, reason string) string {
	if state != faultlinev1.DomainEvicting && reason != faultlinev1.ReasonCordonRequested {
		return ""
	}
	return "; have it receive machines again, or delete the Machine: a control plane makes another one elsewhere"
}
