// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"cmp"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Adopt returns the statuses for a cluster whose domains were published without status.distribution, for example by another
// provider. Domains published for control planes count as healthy until they have been unhealthy for the grace period. Without
// Adopt they would be new domains, and withdrawn until each was checked. The other domains are evaluated as new ones, which does
// not change what is published for them.
func Adopt(published []clusterv1.FailureDomain, now time.Time) []faultlinev1.DomainStatus {
	at := metav1.NewTime(now.UTC().Truncate(time.Second))
	var adopted []faultlinev1.DomainStatus
	for _, domain := range published {
		if !isTrue(domain.ControlPlane) {
			continue
		}
		controlPlane := true
		adopted = append(adopted, faultlinev1.DomainStatus{
			Name:         domain.Name,
			State:        faultlinev1.DomainActive,
			Since:        at,
			ControlPlane: &controlPlane,
			Health:       faultlinev1.DomainHealthy,
			HealthySince: at,
		})
	}
	return adopted
}

// mayTakeControlPlane reports whether the domain is meant for control planes. A domain that no longer is remains a candidate, the
// last one, while it is published as such.
func (d *domain) mayTakeControlPlane() bool { return d.seen.ControlPlane || d.wasPublished }

// lastForControlPlanes returns the domains that were the last to be published for control planes and have been removed from the
// cluster: they were deleted or lost their labels, or a selector has a typo. They are kept as Cordoned until another domain may
// take control planes.
func lastForControlPlanes(in Input) []*domain {
	var kept []*domain
	for _, previous := range in.Previous {
		if !isTrue(previous.ControlPlane) && previous.RemovedSince.IsZero() ||
			slices.ContainsFunc(in.Observations, func(o DomainObservation) bool { return o.Name == previous.Name }) {
			continue
		}
		d := newDomain(DomainObservation{Name: previous.Name, ControlPlane: true, Health: Unknown}, previous, in.Spec.Intent(previous.Name))
		d.removed, d.status.RemovedSince = true, previous.RemovedSince
		if d.intent == faultlinev1.DomainActive {
			d.intent = faultlinev1.DomainCordoned
		}
		kept = append(kept, d)
	}
	return kept
}

// chooseControlPlane decides which domains are published for control planes. If none would be left although one was published, it
// keeps one and returns its name.
func (e *evaluation) chooseControlPlane(published bool) string {
	var candidates []*domain
	active := 0
	for _, d := range e.domains {
		takes := d.seen.ControlPlane && d.status.State == faultlinev1.DomainActive
		d.status.ControlPlane = &takes
		if takes {
			active++
		}
		if d.mayTakeControlPlane() {
			candidates = append(candidates, d)
		}
	}
	if active > 0 || !published || len(candidates) == 0 {
		return ""
	}
	kept := slices.MinFunc(candidates, fitterForControlPlane)
	*kept.status.ControlPlane = true
	explainKept(kept)
	return kept.status.Name
}

// fitterForControlPlane sorts the domains due for withdrawal, the one that is least harmful to keep first.
func fitterForControlPlane(a, b *domain) int {
	return cmp.Or(
		falseFirst(!a.seen.ControlPlane, !b.seen.ControlPlane),
		falseFirst(a.seen.Deleting, b.seen.Deleting),
		cmp.Compare(withdrawal(a.intent), withdrawal(b.intent)),
		falseFirst(a.status.Health == faultlinev1.DomainPending, b.status.Health == faultlinev1.DomainPending),
		falseFirst(!a.status.UnhealthySince.IsZero(), !b.status.UnhealthySince.IsZero()),
		b.status.UnhealthySince.Compare(a.status.UnhealthySince.Time),
		a.status.HealthySince.Compare(b.status.HealthySince.Time),
		cmp.Compare(a.status.Name, b.status.Name),
	)
}

// withdrawal ranks the user's intent by how far it withdraws a domain.
func withdrawal(intent faultlinev1.DomainState) int {
	switch intent {
	case faultlinev1.DomainEvicting:
		return 2
	case faultlinev1.DomainCordoned:
		return 1
	default:
		return 0
	}
}

func falseFirst(a, b bool) int {
	switch {
	case a == b:
		return 0
	case b:
		return -1
	default:
		return 1
	}
}

func anyControlPlane(statuses []faultlinev1.DomainStatus) bool {
	return slices.ContainsFunc(statuses, func(s faultlinev1.DomainStatus) bool { return isTrue(s.ControlPlane) })
}
