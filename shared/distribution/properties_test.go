// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// drawObservations draws observations of up to four domains, which may appear and disappear.
func drawObservations(t *rapid.T) []distribution.DomainObservation {
	var seen []distribution.DomainObservation
	for _, name := range []string{"a", "b", "c", "d"} {
		if rapid.IntRange(0, 9).Draw(t, "removed") == 0 {
			continue
		}
		// Healthy is more frequent, as in practice.
		healths := []distribution.Health{distribution.Healthy, distribution.Healthy, distribution.Unhealthy, distribution.Unhealthy, distribution.Unknown}
		o := see(name, rapid.SampledFrom(healths).Draw(t, name))
		o.ControlPlane = rapid.IntRange(0, 4).Draw(t, "controlPlane") > 0
		o.Deleting = rapid.IntRange(0, 9).Draw(t, "deleting") == 0
		seen = append(seen, o)
	}
	return seen
}

// drawSpec draws the user's intent for the same domains.
func drawSpec(t *rapid.T) faultlinev1.Distribution {
	states := []string{"Active", "Active", "Active", "Cordoned", "Evicting"}
	var pairs []string
	for _, name := range []string{"a", "b", "c", "d"} {
		pairs = append(pairs, name, rapid.SampledFrom(states).Draw(t, "want"))
	}
	return wants(pairs...)
}

// run tracks how long a domain has had the same health, independently of the code under test: only time after an observation
// counts. before is how long it was unhealthy before it was healthy for less than the hold period.
type run struct {
	answer, last   distribution.Health
	length, before time.Duration
}

func (r run) next(seen distribution.Health, passed time.Duration) run {
	if r.last == r.answer && r.last != "" {
		r.length += passed
	}
	if r.answer == distribution.Healthy && seen != distribution.Unknown && r.length >= hold {
		r.before = 0
	}
	if seen != distribution.Unknown && seen != r.answer {
		if r.answer == distribution.Unhealthy {
			r.before += r.length
		}
		if r.before >= grace { // evaluation was frozen then
			r.before = 0
		}
		r.answer, r.length = seen, 0
	}
	r.last = seen
	return r
}

// TestLives evaluates random sequences; the functions it calls document the invariants.
func TestLives(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		l := &timeline{t: t, spec: drawSpec(t)}
		runs := map[string]run{}
		var now time.Duration
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			passed := time.Duration(rapid.IntRange(0, 400).Draw(t, "seconds")) * time.Second
			now += passed
			if rapid.IntRange(0, 5).Draw(t, "change") == 0 {
				l.spec = drawSpec(t)
			}
			before, seen := l.domains, drawObservations(t)
			result := l.at(now, seen...)
			current := map[string]run{}
			for _, domain := range result.Domains { // removed domains that are kept are not observed
				r := runs[domain.Name].next(healthOf(seen, domain.Name), passed)
				if healthIn(before, domain.Name) != faultlinev1.DomainHealthy {
					r.before = 0
				}
				current[domain.Name] = r
			}
			runs = current

			checkControlPlane(t, before, seen, result)
			for _, domain := range result.Domains {
				checkVerdict(t, healthIn(before, domain.Name), domain, runs[domain.Name], result.TooManyUnhealthy)
				checkState(t, l.spec.Intent(domain.Name), domain, seen)
			}
			checkNextCheck(t, l.spec, seen, result, now)
		}
	})
}

// healthOf returns the observed health of a domain, Unknown if it is not observed.
func healthOf(seen []distribution.DomainObservation, name string) distribution.Health {
	for _, o := range seen {
		if o.Name == name {
			return o.Health
		}
	}
	return distribution.Unknown
}

// checkControlPlane checks that once a control-plane domain was published, one always is.
func checkControlPlane(t *rapid.T, before []faultlinev1.DomainStatus, seen []distribution.DomainObservation, result distribution.Result) {
	published := map[string]bool{}
	for _, domain := range before {
		if *domain.ControlPlane {
			published[domain.Name] = true
		}
	}
	if len(published) > 0 && result.ControlPlaneDomains == 0 {
		t.Fatalf("the last control-plane domain was withdrawn: before %+v, now %+v", before, result)
	}
	if got := controlPlanes(result); len(got) != result.ControlPlaneDomains || result.Kept != "" && !slices.Equal(got, []string{result.Kept}) {
		t.Fatalf("kept %q, count %d, for control planes %v", result.Kept, result.ControlPlaneDomains, got)
	}
	left := slices.ContainsFunc(seen, func(o distribution.DomainObservation) bool { return o.ControlPlane || published[o.Name] })
	if left && len(result.Domains) > len(seen) {
		t.Fatalf("removed domains are kept although others may take control planes: %+v", result.Domains)
	}
	if (len(published) > 0 || result.NoControlPlaneDomain) && !result.ControlPlaneNeedsDomain {
		t.Fatalf("a control-plane machine may be anywhere, although %v were published", published)
	}
}

// checkVerdict checks that health does not flap within the grace or hold period, changes when they have passed, and does not
// change for the worse while too many domains have turned.
func checkVerdict(t *rapid.T, before faultlinev1.DomainHealth, domain faultlinev1.DomainStatus, r run, frozen bool) {
	after := domain.Health
	isGood, isBad := r.last == distribution.Healthy, r.last == distribution.Unhealthy
	switch {
	case r.last == distribution.Unknown || frozen && before == faultlinev1.DomainHealthy:
		if after != before {
			t.Fatalf("%s became %s while nothing should change", before, after)
		}
	case before == faultlinev1.DomainPending:
		if (after == faultlinev1.DomainHealthy) != isGood {
			t.Fatalf("a new domain became %s when %s", after, r.last)
		}
	case before == faultlinev1.DomainHealthy:
		if (after == faultlinev1.DomainUnhealthy) != (isBad && r.before+r.length >= grace) {
			t.Fatalf("%s became %s after %+v", before, after, r)
		}
	case before == faultlinev1.DomainUnhealthy:
		if (after == faultlinev1.DomainHealthy) != (isGood && r.length >= hold) {
			t.Fatalf("%s became %s after %+v", before, after, r)
		}
	}
}

// healthIn returns the previous health of a domain, Pending for a new one.
func healthIn(domains []faultlinev1.DomainStatus, name string) faultlinev1.DomainHealth {
	for _, domain := range domains {
		if domain.Name == name {
			return domain.Health
		}
	}
	return faultlinev1.DomainPending
}

// checkState checks that the more restrictive of intent and health wins, and that a domain that is not simply Active has a reason
// and a message.
func checkState(t *rapid.T, intent faultlinev1.DomainState, domain faultlinev1.DomainStatus, seen []distribution.DomainObservation) {
	want := intent
	listed := slices.IndexFunc(seen, func(o distribution.DomainObservation) bool { return o.Name == domain.Name })
	if intent == faultlinev1.DomainActive && (domain.Health != faultlinev1.DomainHealthy || listed < 0 || seen[listed].Deleting) {
		want = faultlinev1.DomainCordoned
	}
	if (listed < 0) == domain.RemovedSince.IsZero() {
		t.Fatalf("%s is removed: %t, and reports that it was removed at %s", domain.Name, listed < 0, domain.RemovedSince)
	}
	if domain.State != want {
		t.Fatalf("wanted %s, counts as %s: %s", intent, domain.Health, domain.State)
	}
	if domain.State != faultlinev1.DomainActive && (domain.Reason == "" || domain.Message == "") {
		t.Fatalf("not Active without saying why: %+v", domain)
	}
}

// checkNextCheck checks that with unchanged observations nothing changes before the next check, and nothing at all if there is
// none.
func checkNextCheck(t *rapid.T, spec faultlinev1.Distribution, seen []distribution.DomainObservation, result distribution.Result, now time.Duration) {
	wait := 100 * time.Hour
	if result.NextCheck > 0 {
		wait = result.NextCheck - time.Second
	}
	later := &timeline{t: t, spec: spec, domains: stored(t, result.Domains)}
	if then := later.at(now+wait, seen...); !maps.Equal(states(then), states(result)) || then.Kept != result.Kept {
		t.Fatalf("%s on, before the next check: %v became %v", wait, states(result), states(then))
	}
}

// The result depends neither on the order of the input nor on whether the status has been stored, and the input is not modified.
func TestEvaluateIsDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		spec := drawSpec(t)
		var now time.Time
		var previous []faultlinev1.DomainStatus
		// First healthy, then random observations, so that periods are running.
		for i, seen := range [][]distribution.DomainObservation{allHealthy, drawObservations(t)} {
			now = start().Add(time.Duration(i)*time.Minute + 700*time.Millisecond)
			previous = distribution.Evaluate(distribution.Input{Spec: spec, Previous: previous, Observations: seen, Now: now}).Domains
		}
		seen := drawObservations(t)
		now = now.Add(time.Duration(rapid.IntRange(0, 1_000_000).Draw(t, "milliseconds")) * time.Millisecond)
		evaluate := func(previous []faultlinev1.DomainStatus, seen []distribution.DomainObservation) distribution.Result {
			return distribution.Evaluate(distribution.Input{Spec: spec, Previous: previous, Observations: seen, Now: now})
		}
		want := evaluate(previous, seen)
		shuffled := evaluate(rapid.Permutation(previous).Draw(t, "previous"), rapid.Permutation(seen).Draw(t, "seen"))
		read := evaluate(stored(t, previous), seen)
		for name, got := range map[string]distribution.Result{"in another order": shuffled, "after storing": read} {
			if !reflect.DeepEqual(stored(t, got.Domains), stored(t, want.Domains)) || !reflect.DeepEqual(got.Published, want.Published) ||
				got.NextCheck != want.NextCheck || got.Kept != want.Kept || got.TooManyUnhealthy != want.TooManyUnhealthy {
				t.Fatalf("%s: got %+v, want %+v", name, got, want)
			}
		}
		if again := evaluate(previous, seen); !reflect.DeepEqual(again, want) {
			t.Fatalf("got %+v, then %+v: an argument was modified", want, again)
		}
	})
}
