// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"fmt"

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

// Receives is the answer to whether a cluster may put a machine into a domain now: it may if the state is Active. Otherwise
// reason and message say why not; the reason is the domain's own, such as DatastoreNotFound or CordonRequested.
//
// What the user wants counts before the status says so, as far as it withdraws the domain: an evaluation may be behind it. What
// the status says counts until an evaluation has changed it. A domain that the status does not list is what the user wants it to
// be; whether it exists is for the provider to say. That a domain is published for control planes because it is the last does not
// make it receive machines.
func Receives(
	wanted faultlinev1.Distribution, known faultlinev1.DistributionStatus, domain string, pending Pending,
) (state faultlinev1.DomainState, reason, message string) {
	for i := range known.FailureDomains {
		seen := &known.FailureDomains[i]
		if seen.Name != domain || seen.State == "" || seen.State == faultlinev1.DomainActive ||
			bool(pending) && seen.Health == faultlinev1.DomainPending {
			continue
		}
		return seen.State, seen.Reason, fmt.Sprintf("failure domain %s is %s and receives no machines: %s%s", domain, seen.State, seen.Message, wayOut(seen.State, seen.Reason))
	}
	state, reason = wanted.Intent(domain), faultlinev1.ReasonCordonRequested
	switch state {
	case faultlinev1.DomainActive:
		return state, "", ""
	case faultlinev1.DomainEvicting:
		reason = faultlinev1.ReasonEvictionRequested
	}
	return state, reason, fmt.Sprintf("failure domain %s is to be %s and receives no machines: spec.distribution asks for it%s", domain, state, wayOut(state, reason))
}

// wayOut is for a machine that is asked to be in a domain which is being emptied, or is cordoned because somebody wants it: nobody asks a
// second time where the machine is to be. A domain that is cordoned for its health may come back by itself.
func wayOut(state faultlinev1.DomainState, reason string) string {
	if state != faultlinev1.DomainEvicting && reason != faultlinev1.ReasonCordonRequested {
		return ""
	}
	return "; have it receive machines again, or delete the Machine: a control plane makes another one elsewhere"
}
