// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// one is the expected state of a domain at one moment.
type one struct {
	after  time.Duration
	seen   distribution.Health
	state  faultlinev1.DomainState
	reason string
	next   time.Duration
}

// Short names for the test cases.
const (
	up, down, unseen = distribution.Healthy, distribution.Unhealthy, distribution.Unknown
	active, cordoned = faultlinev1.DomainActive, faultlinev1.DomainCordoned
	broken, lost     = "DatastoreNotFound", "VCenterUnreachable"
	holding          = faultlinev1.ReasonHoldPeriod
)

// healthTests are sequences of observations of one domain.
var healthTests = map[string]struct {
	spec  faultlinev1.Distribution
	story []one
}{
	"a new domain is not Active until it is good, and then at once": {story: []one{
		{0, unseen, cordoned, lost, 0},
		{time.Minute, down, cordoned, broken, 0},
		{time.Hour, down, cordoned, broken, 0},
		{time.Hour + time.Second, up, active, "", 0},
	}},
	"bad for less than the grace period": {story: []one{
		{0, up, active, "", 0},
		{time.Minute, down, active, broken, grace},
		{time.Minute + grace - time.Second, down, active, broken, time.Second},
		{time.Minute + grace, up, active, "", 0},
	}},
	"bad for the grace period, good for the hold period": {story: []one{
		{0, up, active, "", 0},
		{time.Minute, down, active, broken, grace},
		{time.Minute + grace, down, cordoned, broken, 0},
		{time.Hour, down, cordoned, broken, 0},
		{2 * time.Hour, up, cordoned, holding, hold},
		{2*time.Hour + hold - time.Second, up, cordoned, holding, time.Second},
		{2*time.Hour + hold, up, active, "", 0},
	}},
	"a domain that flaps is cordoned in the end": {story: []one{
		{0, up, active, "", 0},
		{0, down, active, broken, grace},
		{110 * time.Second, up, active, "", 0},
		{111 * time.Second, down, active, broken, 10 * time.Second},
		{120 * time.Second, down, active, broken, time.Second},
		{121 * time.Second, down, cordoned, broken, 0},
	}},
	"it is however short the times in which it is bad": {story: []one{
		{0, up, active, "", 0},
		{0, down, active, broken, grace},
		{50 * time.Second, up, active, "", 0},
		{5 * time.Minute, down, active, broken, 70 * time.Second},
		{5*time.Minute + 50*time.Second, up, active, "", 0},
		{10 * time.Minute, down, active, broken, 20 * time.Second},
		{10*time.Minute + 20*time.Second, down, cordoned, broken, 0},
	}},
	"a domain that was healthy for the hold period starts from zero": {story: []one{
		{0, up, active, "", 0},
		{0, down, active, broken, grace},
		{110 * time.Second, up, active, "", 0},
		{110*time.Second + hold, down, active, broken, grace},
		{110*time.Second + hold + grace, down, cordoned, broken, 0},
	}},
	"a bad answer starts the hold period again": {story: []one{
		{0, up, active, "", 0},
		{0, down, active, broken, grace},
		{grace, down, cordoned, broken, 0},
		{3 * time.Minute, up, cordoned, holding, hold},
		{12 * time.Minute, down, cordoned, broken, 0},
		{14 * time.Minute, up, cordoned, holding, hold},
		{24*time.Minute - time.Second, up, cordoned, holding, time.Second},
		{24 * time.Minute, up, active, "", 0},
	}},
	"a failed look-up is not bad health": {story: []one{
		{0, up, active, "", 0},
		{time.Minute, unseen, active, lost, 0},
		{24 * time.Hour, unseen, active, lost, 0},
		{25 * time.Hour, up, active, "", 0},
	}},
	"time unseen does not count for the grace period": {story: []one{
		{0, up, active, "", 0},
		{0, down, active, broken, grace},
		{time.Minute, unseen, active, lost, 0},
		{time.Hour, unseen, active, lost, 0},
		{2 * time.Hour, down, active, broken, time.Minute},
		{2*time.Hour + time.Minute, down, cordoned, broken, 0},
	}},
	"time unseen does not count for the hold period": {story: []one{
		{0, up, active, "", 0},
		{0, down, active, broken, grace},
		{grace, down, cordoned, broken, 0},
		{5 * time.Minute, up, cordoned, holding, hold},
		{6 * time.Minute, unseen, cordoned, lost, 0},
		{time.Hour, unseen, cordoned, lost, 0},
		{2 * time.Hour, up, cordoned, holding, hold - time.Minute},
		{2*time.Hour + hold - time.Minute, up, active, "", 0},
	}},
	"no grace and no hold": {
		spec: faultlinev1.Distribution{GracePeriodSeconds: new(int32), HoldPeriodSeconds: new(int32)},
		story: []one{
			{0, up, active, "", 0},
			{0, down, cordoned, broken, 0},
			{0, up, active, "", 0},
		},
	},
	"a clock that runs backwards fires nothing early": {story: []one{
		{time.Hour, up, active, "", 0},
		{time.Hour, down, active, broken, grace},
		{0, down, active, broken, grace},
		{time.Hour + grace, down, cordoned, broken, 0},
	}},
	"a domain wanted Cordoned is, however good": {
		spec: wants("b", "Cordoned"),
		story: []one{
			{0, up, cordoned, faultlinev1.ReasonCordonRequested, 0},
			{time.Hour, down, cordoned, faultlinev1.ReasonCordonRequested, grace},
		},
	},
	"a domain wanted Evicting is, however bad": {
		spec: wants("b", "Evicting"),
		story: []one{
			{0, up, faultlinev1.DomainEvicting, faultlinev1.ReasonEvictionRequested, 0},
			{0, down, faultlinev1.DomainEvicting, faultlinev1.ReasonEvictionRequested, grace},
			{time.Hour, down, faultlinev1.DomainEvicting, faultlinev1.ReasonEvictionRequested, 0},
		},
	},
	"a domain wanted Active is not, when it is bad": {
		spec: wants("b", "Active"),
		story: []one{
			{0, down, cordoned, broken, 0},
			{time.Minute, up, active, "", 0},
		},
	},
}

// Two further domains stay healthy, so that this one is neither the last nor part of a majority.
func TestHealthOfOneDomain(t *testing.T) {
	t.Parallel()
	for name, test := range healthTests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTimeline(t)
			l.spec = test.spec
			for _, want := range test.story {
				result := l.at(want.after, good("a"), see("b", want.seen), good("c"))
				got := status(t, result, "b")
				if got.State != want.state || got.Reason != want.reason || result.NextCheck != want.next {
					t.Fatalf("%s: %s, reason %q, next check in %s, want %+v", want.after, got.State, got.Reason, result.NextCheck, want)
				}
				if takes := slices.Contains(controlPlanes(result), "b"); takes != (want.state == active) {
					t.Fatalf("%s: published for control planes: %t", want.after, takes)
				}
			}
		})
	}
}

// A domain that was cordoned by the user and stayed healthy is Active as soon as the user requests it: the hold period only
// applies to domains that were unhealthy.
func TestActivatingByHand(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	l.spec = wants("a", "Cordoned")
	if got := states(l.at(time.Minute, good("a"), good("b")))["a"]; got != faultlinev1.DomainCordoned {
		t.Fatalf("got %s", got)
	}
	l.spec = wants()
	if got := states(l.at(2*time.Minute, good("a"), good("b")))["a"]; got != faultlinev1.DomainActive {
		t.Fatalf("got %s", got)
	}
}

// The health of a domain cordoned by the user is still evaluated.
func TestActivatingByHandABadDomain(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"))
	l.spec = wants("a", "Cordoned")
	l.at(time.Minute, bad("a"), good("b"))
	l.at(time.Minute+grace, bad("a"), good("b"))
	l.spec = wants()
	result := l.at(time.Hour, bad("a"), good("b"))
	if got := status(t, result, "a"); got.State != faultlinev1.DomainCordoned || got.Reason != "DatastoreNotFound" {
		t.Fatalf("got %+v", got)
	}
}

func TestSinceIsTheLastChangeOfState(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	steps := []struct {
		after time.Duration
		seen  distribution.DomainObservation
		since time.Duration
	}{
		{0, good("b"), 0},
		{time.Minute, bad("b"), 0},
		{time.Minute + grace, bad("b"), time.Minute + grace},
		{time.Hour, good("b"), time.Minute + grace},
		{time.Hour + hold, good("b"), time.Hour + hold},
		{2 * time.Hour, unknown("b"), time.Hour + hold},
	}
	for _, step := range steps {
		got := status(t, l.at(step.after, good("a"), step.seen, good("c")), "b")
		if want := start().Add(step.since); !got.Since.Time.Equal(want) {
			t.Errorf("after %s: since %s, want %s", step.after, got.Since, want)
		}
	}
}

func TestMessages(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	steps := []struct {
		after time.Duration
		spec  faultlinev1.Distribution
		seen  distribution.DomainObservation
		want  string
	}{
		{0, wants(), bad("b"), "datastore ds-b is gone; has never been healthy"},
		{0, wants(), good("b"), ""},
		{0, wants(), bad("b"), "datastore ds-b is gone; unhealthy since 2026-01-01T12:00:00Z, cordoned from 2026-01-01T12:02:00Z unless it recovers"},
		{grace, wants(), bad("b"), "datastore ds-b is gone; unhealthy since 2026-01-01T12:00:00Z"},
		{time.Hour, wants(), good("b"), "healthy again since 2026-01-01T13:00:00Z, Active from 2026-01-01T13:10:00Z if it stays so"},
		{2 * time.Hour, wants(), unknown("b"), "connection refused; lookups have failed since 2026-01-01T14:00:00Z, so it still counts as Unhealthy"},
		{2 * time.Hour, wants("b", "Cordoned"), bad("b"), "cordoned by spec.distribution; datastore ds-b is gone; unhealthy since 2026-01-01T14:00:00Z"},
		{3 * time.Hour, wants("b", "Evicting"), good("b"), "evicted by spec.distribution; healthy again since 2026-01-01T15:00:00Z, Active from 2026-01-01T15:10:00Z if it stays so"},
	}
	for _, step := range steps {
		l.spec = step.spec
		if got := status(t, l.at(step.after, good("a"), step.seen, good("c")), "b").Message; got != step.want {
			t.Errorf("after %s: got %q, want %q", step.after, got, step.want)
		}
	}
}

// Default reasons apply if the provider gives none, and no message exceeds the limit of the API.
func TestReasonsWithoutTheProviders(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	mute := func(health distribution.Health) distribution.DomainObservation {
		return distribution.DomainObservation{Name: "b", Health: health}
	}
	steps := []struct {
		after  time.Duration
		seen   distribution.DomainObservation
		reason string
	}{
		{0, mute(""), faultlinev1.ReasonLookupFailed},
		{0, mute(distribution.Unhealthy), faultlinev1.ReasonNotYetHealthy},
		{0, mute(distribution.Healthy), ""},
		{0, mute(distribution.Unhealthy), faultlinev1.ReasonUnhealthy},
		{grace, mute(distribution.Unhealthy), faultlinev1.ReasonUnhealthy},
		{grace, distribution.DomainObservation{Name: "b", Health: distribution.Unhealthy, Message: strings.Repeat("ü", 10000)}, faultlinev1.ReasonUnhealthy},
	}
	for _, step := range steps {
		got := status(t, l.at(step.after, good("a"), step.seen, good("c")), "b")
		if got.Reason != step.reason {
			t.Errorf("after %s: reason %q, want %q", step.after, got.Reason, step.reason)
		}
		if len(got.Message) > 10240 {
			t.Errorf("message of %d bytes", len(got.Message))
		}
	}
}

func TestPublished(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	a, b, c := good("a"), bad("b"), good("c")
	a.Attributes = map[string]string{"region": "r1", "zone": "a", "state": "overwritten"}
	c.ControlPlane = false
	result := l.at(0, c, b, a)
	if names := []string{result.Published[0].Name, result.Published[1].Name, result.Published[2].Name}; !slices.IsSorted(names) {
		t.Errorf("published as %v", names)
	}
	if want := map[string]string{"region": "r1", "zone": "a", "state": "Active"}; !maps.Equal(publishedAs(t, result, "a").Attributes, want) {
		t.Errorf("attributes of a: %v, want %v", publishedAs(t, result, "a").Attributes, want)
	}
	if want := map[string]string{"state": "Cordoned", "reason": "DatastoreNotFound"}; !maps.Equal(publishedAs(t, result, "b").Attributes, want) {
		t.Errorf("attributes of b: %v, want %v", publishedAs(t, result, "b").Attributes, want)
	}
	if got := controlPlanes(result); !slices.Equal(got, []string{"a"}) || result.ControlPlaneDomains != 1 {
		t.Errorf("for control planes: %v (%d)", got, result.ControlPlaneDomains)
	}
	if got := status(t, result, "c"); got.State != faultlinev1.DomainActive {
		t.Errorf("a domain that is not meant for control planes is Active all the same, got %s", got.State)
	}
	if a.Attributes["state"] != "overwritten" || len(a.Attributes) != 3 {
		t.Errorf("the observation was modified: %v", a.Attributes)
	}
}

func TestCapacityIsPassedOn(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	some, over := int32(3), int32(-2)
	a, b, c := good("a"), good("b"), good("c")
	a.Capacity, b.Capacity = &some, &over
	result := l.at(0, a, b, c)
	if got := status(t, result, "a").Capacity; got == nil || *got != 3 || got == &some {
		t.Errorf("a: %v", got)
	}
	if got := status(t, result, "b").Capacity; got == nil || *got != 0 {
		t.Errorf("b: an overcommitted domain has no capacity, got %v", got)
	}
	if got := status(t, result, "c").Capacity; got != nil {
		t.Errorf("c: %v", *got)
	}
}

// Names in the spec that match no domain are reported, a removed domain is dropped, and of two observations with the same name
// the first counts.
func TestNames(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.spec = wants("zone-z", "Cordoned", "a", "Cordoned", "zone-y", "Active")
	result := l.at(0, good("b"), good("a"), bad("b"))
	if want := []string{"zone-y", "zone-z"}; !slices.Equal(result.Undeclared, want) {
		t.Errorf("undeclared: %v, want %v", result.Undeclared, want)
	}
	want := map[string]faultlinev1.DomainState{"a": faultlinev1.DomainCordoned, "b": faultlinev1.DomainActive}
	if got := states(result); !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	l.at(time.Minute, good("b"))
	if got := status(t, l.at(2*time.Minute, bad("a"), good("b")), "a"); got.Health != faultlinev1.DomainPending {
		t.Errorf("a domain that comes back is a new one, got %+v", got)
	}
}

func TestNothingDeclared(t *testing.T) {
	t.Parallel()
	if got := newTimeline(t).at(0); !reflect.DeepEqual(got, distribution.Result{}) {
		t.Errorf("got %+v", got)
	}
}
