// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution

import (
	"cmp"
	"maps"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// Keys of the published attributes that Evaluate adds.
const (
	// StateAttribute is the attribute that holds a domain's state.
	StateAttribute = "state"
	// ReasonAttribute is the attribute that holds a domain's reason.
	ReasonAttribute = "reason"
)

// Evaluate decides the state of every observed domain and what is published for it, by the rules in the package comment. It does
// not modify its input.
func Evaluate(in Input) Result {
	e := newEvaluation(in)
	e.frozen = e.tooManyTurned()
	for _, d := range e.domains {
		e.updateHealth(d)
		e.applyStates(d)
		e.explain(d)
	}
	kept := e.chooseControlPlane(anyControlPlane(in.Previous))

	result := Result{
		TooManyUnhealthy: e.frozen,
		Kept:             kept,
		Undeclared:       e.undeclared(in.Spec),
		NextCheck:        e.nextCheck(),
	}
	for _, d := range e.domains {
		result.Domains = append(result.Domains, d.status)
		result.Published = append(result.Published, d.published())
		if *d.status.ControlPlane {
			result.ControlPlaneDomains++
		}
	}
	meant := slices.ContainsFunc(e.domains, func(d *domain) bool { return d.seen.ControlPlane })
	result.NoControlPlaneDomain = meant && result.ControlPlaneDomains == 0
	result.ControlPlaneNeedsDomain = meant || result.ControlPlaneDomains > 0
	return result
}

// evaluation is the state of one call of Evaluate.
type evaluation struct {
	domains     []*domain // by name
	now         metav1.Time
	grace, hold time.Duration
	frozen      bool
}

// domain is an observed domain with the status that is being computed.
type domain struct {
	seen         DomainObservation
	intent       faultlinev1.DomainState
	wasPublished bool
	removed      bool // removed from the cluster, but kept: see lastForControlPlanes
	status       faultlinev1.DomainStatus
}

func newEvaluation(in Input) *evaluation {
	// The status stores whole seconds. Truncating the clock here yields the same decision before and after the status has been
	// stored.
	e := &evaluation{
		now:   metav1.NewTime(in.Now.UTC().Truncate(time.Second)),
		grace: in.Spec.GracePeriod(),
		hold:  in.Spec.HoldPeriod(),
	}
	previous := map[string]faultlinev1.DomainStatus{}
	for _, status := range in.Previous {
		previous[status.Name] = status
	}
	observations := slices.Clone(in.Observations)
	slices.SortStableFunc(observations, func(a, b DomainObservation) int { return cmp.Compare(a.Name, b.Name) })
	observations = slices.CompactFunc(observations, func(a, b DomainObservation) bool { return a.Name == b.Name })
	for _, seen := range observations {
		e.domains = append(e.domains, newDomain(seen, previous[seen.Name], in.Spec.Intent(seen.Name)))
	}
	if !slices.ContainsFunc(e.domains, (*domain).mayTakeControlPlane) {
		e.domains = append(e.domains, lastForControlPlanes(in)...)
		slices.SortFunc(e.domains, func(a, b *domain) int { return cmp.Compare(a.status.Name, b.status.Name) })
	}
	for _, d := range e.domains {
		e.record(d)
	}
	return e
}

func newDomain(seen DomainObservation, previous faultlinev1.DomainStatus, intent faultlinev1.DomainState) *domain {
	d := &domain{seen: seen, intent: intent, wasPublished: isTrue(previous.ControlPlane), status: remembered(previous)}
	if seen.Deleting && intent == faultlinev1.DomainActive {
		d.intent = faultlinev1.DomainCordoned
	}
	d.status.Name = seen.Name
	d.status.Capacity = capacityOf(seen.Capacity)
	return d
}

// remembered returns the history in a domain's previous status, without its reason and message.
func remembered(previous faultlinev1.DomainStatus) faultlinev1.DomainStatus {
	return faultlinev1.DomainStatus{
		State:            previous.State,
		Since:            previous.Since,
		Health:           cmp.Or(previous.Health, faultlinev1.DomainPending),
		HealthySince:     previous.HealthySince,
		UnhealthySince:   previous.UnhealthySince,
		UnhealthySeconds: previous.UnhealthySeconds,
		StaleSince:       previous.StaleSince,
	}
}

// record updates healthySince and unhealthySince. Time without observations does not count.
func (e *evaluation) record(d *domain) {
	s := &d.status
	if d.removed && s.RemovedSince.IsZero() {
		s.RemovedSince = e.now
	}
	if d.seen.Health != Healthy && d.seen.Health != Unhealthy {
		if s.StaleSince.IsZero() {
			s.StaleSince = e.now
		}
		return
	}
	if !s.StaleSince.IsZero() {
		unseen := e.elapsed(s.StaleSince)
		s.HealthySince = later(s.HealthySince, unseen)
		s.UnhealthySince = later(s.UnhealthySince, unseen)
		s.StaleSince = metav1.Time{}
	}
	current, other := &s.HealthySince, &s.UnhealthySince
	if d.seen.Health == Unhealthy {
		current, other = other, current
	}
	e.carry(s, d.seen.Health)
	*other = metav1.Time{}
	if current.IsZero() {
		*current = e.now
	}
}

// carry keeps the accumulated Unhealthy time across moments in which the domain is Healthy, until it has been Healthy for the hold
// period. If a domain has been Unhealthy for the grace period and still counts as healthy, because evaluation was frozen, the time
// restarts from zero.
func (e *evaluation) carry(s *faultlinev1.DomainStatus, now Health) {
	if now == Healthy && !s.UnhealthySince.IsZero() && s.Health == faultlinev1.DomainHealthy {
		bad := e.unhealthyFor(s)
		s.UnhealthySeconds = nil
		if bad < e.grace {
			seconds := int32(bad / time.Second) //nolint:gosec // less than the grace period, which is one
			s.UnhealthySeconds = &seconds
		}
	}
	if !s.HealthySince.IsZero() && e.elapsed(s.HealthySince) >= e.hold {
		s.UnhealthySeconds = nil
	}
}

// updateHealth changes a domain's health once its grace or hold period has passed. While too many domains have turned, it changes none
// for the worse.
func (e *evaluation) updateHealth(d *domain) {
	s := &d.status
	switch {
	case d.stale():
	case s.Health == faultlinev1.DomainPending && d.seen.Health == Healthy,
		s.Health == faultlinev1.DomainUnhealthy && d.seen.Health == Healthy && e.elapsed(s.HealthySince) >= e.hold:
		s.Health = faultlinev1.DomainHealthy
	case !e.frozen && s.Health == faultlinev1.DomainHealthy && d.seen.Health == Unhealthy && e.unhealthyFor(s) >= e.grace:
		s.Health = faultlinev1.DomainUnhealthy
	}
	if s.Health != faultlinev1.DomainHealthy {
		s.UnhealthySeconds = nil
	}
}

// applyStates derives the state from intent and health.
func (e *evaluation) applyStates(d *domain) {
	state := d.intent
	if state == faultlinev1.DomainActive && d.status.Health != faultlinev1.DomainHealthy {
		state = faultlinev1.DomainCordoned
	}
	if d.status.State != state {
		d.status.State, d.status.Since = state, e.now
	}
}

// tooManyTurned reports whether more than half of the domains that the user leaves Active have turned Unhealthy within one grace
// period.
func (e *evaluation) tooManyTurned() bool {
	var turned []time.Time
	voting := 0
	for _, d := range e.domains {
		if d.intent != faultlinev1.DomainActive {
			continue
		}
		voting++
		if d.turned() {
			turned = append(turned, d.status.UnhealthySince.Time)
		}
	}
	slices.SortFunc(turned, time.Time.Compare)
	most := voting / 2
	for i := 0; i+most < len(turned); i++ {
		if within := turned[i+most].Sub(turned[i]); within == 0 || within < e.grace {
			return true
		}
	}
	return false
}

// nextCheck returns the time until the first running grace or hold period ends.
func (e *evaluation) nextCheck() time.Duration {
	var next time.Duration
	for _, d := range e.domains {
		var left time.Duration
		switch {
		case d.stale():
		case d.turned():
			left = e.grace - e.unhealthyFor(&d.status)
		case d.holding():
			left = e.hold - e.elapsed(d.status.HealthySince)
		}
		if left > 0 && (next == 0 || left < next) {
			next = left
		}
	}
	return next
}

// undeclared lists the names in the spec that match no domain.
func (e *evaluation) undeclared(spec faultlinev1.Distribution) []string {
	var names []string
	for _, intent := range spec.FailureDomains {
		if !slices.ContainsFunc(e.domains, func(d *domain) bool { return d.status.Name == intent.Name }) {
			names = append(names, intent.Name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// elapsed returns the time since t, never negative: the clock of the manager that wrote t may have been ahead.
func (e *evaluation) elapsed(t metav1.Time) time.Duration {
	return max(0, e.now.Sub(t.Time))
}

// unhealthyFor returns how long the domain has been Unhealthy, as counted for the grace period.
func (e *evaluation) unhealthyFor(s *faultlinev1.DomainStatus) time.Duration {
	return carried(s) + e.elapsed(s.UnhealthySince)
}

// carried returns how long the domain was Unhealthy before it was Healthy for a moment.
func carried(s *faultlinev1.DomainStatus) time.Duration {
	if s.UnhealthySeconds == nil {
		return 0
	}
	return time.Duration(*s.UnhealthySeconds) * time.Second
}

// stale reports whether the domain could not be checked this time.
func (d *domain) stale() bool { return !d.status.StaleSince.IsZero() }

// turned reports whether the domain was last seen Unhealthy and still counts as healthy.
func (d *domain) turned() bool {
	return d.status.Health == faultlinev1.DomainHealthy && !d.status.UnhealthySince.IsZero()
}

// holding reports whether the domain was last seen Healthy and still counts as unhealthy.
func (d *domain) holding() bool {
	return d.status.Health == faultlinev1.DomainUnhealthy && !d.status.HealthySince.IsZero()
}

func (d *domain) published() clusterv1.FailureDomain {
	attributes := map[string]string{}
	maps.Copy(attributes, d.seen.Attributes)
	attributes[StateAttribute] = string(d.status.State)
	if d.status.Reason != "" {
		attributes[ReasonAttribute] = d.status.Reason
	}
	controlPlane := *d.status.ControlPlane
	return clusterv1.FailureDomain{Name: d.status.Name, ControlPlane: &controlPlane, Attributes: attributes}
}

// capacityOf returns a non-negative copy of capacity: an overcommitted domain has no capacity left.
func capacityOf(capacity *int32) *int32 {
	if capacity == nil {
		return nil
	}
	left := max(0, *capacity)
	return &left
}

// later returns t delayed by d, or zero if t is zero.
func later(t metav1.Time, d time.Duration) metav1.Time {
	if t.IsZero() {
		return t
	}
	return metav1.NewTime(t.Add(d))
}

func isTrue(b *bool) bool { return b != nil && *b }
