// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/text"
)

// maxMessage is the maximum length of a domain's message in the API.
const maxMessage = 10240

// explain sets reason and message of a domain: the user's request, followed by the state of its health.
func (e *evaluation) explain(d *domain) {
	reason, message := e.health(d)
	switch {
	case d.removed:
		reason, message = faultlinev1.ReasonDomainRemoved, fmt.Sprintf(
			"is not a failure domain of this cluster since %s, and no other takes control planes", stamp(d.status.RemovedSince))
	case d.intent == faultlinev1.DomainEvicting:
		reason, message = faultlinev1.ReasonEvictionRequested, join("evicted by spec.distribution", message)
	case d.seen.Deleting:
		reason, message = faultlinev1.ReasonDomainDeleting, join("is being deleted", message)
	case d.intent == faultlinev1.DomainCordoned:
		reason, message = faultlinev1.ReasonCordonRequested, join("cordoned by spec.distribution", message)
	}
	d.status.Reason, d.status.Message = reason, clip(message)
}

// health returns the reason and message for a domain's health; both are empty if it is healthy.
func (e *evaluation) health(d *domain) (reason, message string) {
	s := d.status
	switch {
	case d.stale():
		return cmp.Or(d.seen.Reason, faultlinev1.ReasonLookupFailed), join(d.seen.Message,
			fmt.Sprintf("lookups have failed since %s, so it still counts as %s", stamp(s.StaleSince), s.Health))
	case e.frozen && d.turned():
		return faultlinev1.ReasonTooManyDomainsUnhealthy, join(d.seen.Message, fmt.Sprintf(
			"unhealthy since %s, and still counts as %s, because more than half of the domains turned unhealthy at once: if it is down, cordon it in spec.distribution",
			stamp(s.UnhealthySince), s.Health))
	case d.seen.Health == Unhealthy && s.Health == faultlinev1.DomainPending:
		return cmp.Or(d.seen.Reason, faultlinev1.ReasonNotYetHealthy), join(d.seen.Message, "has never been healthy")
	case d.turned():
		return d.unhealthyReason(), join(d.seen.Message, fmt.Sprintf("unhealthy since %s, cordoned from %s unless it recovers",
			stamp(s.UnhealthySince), stamp(later(s.UnhealthySince, e.grace-carried(&s)))))
	case d.seen.Health == Unhealthy:
		return d.unhealthyReason(), join(d.seen.Message, "unhealthy since "+stamp(s.UnhealthySince))
	case d.holding():
		return faultlinev1.ReasonHoldPeriod, fmt.Sprintf("healthy again since %s, Active from %s if it stays so",
			stamp(s.HealthySince), stamp(later(s.HealthySince, e.hold)))
	default:
		return "", ""
	}
}

func (d *domain) unhealthyReason() string {
	return cmp.Or(d.seen.Reason, faultlinev1.ReasonUnhealthy)
}

// explainKept prefixes a domain's message with the reason for which it is kept for control planes.
func explainKept(d *domain) {
	d.status.Reason = faultlinev1.ReasonLastControlPlaneDomain
	d.status.Message = clip(join("stays published for control planes because no other domain can take them", d.status.Message))
}

// join joins the non-empty parts of a message.
func join(parts ...string) string {
	var said []string
	for _, part := range parts {
		if part != "" {
			said = append(said, part)
		}
	}
	return strings.Join(said, "; ")
}

func clip(message string) string { return text.Truncate(message, maxMessage) }

func stamp(t metav1.Time) string { return t.UTC().Format(time.RFC3339) }
