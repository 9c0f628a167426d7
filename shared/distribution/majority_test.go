// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// observe observes total domains, named a, b, c and so on; the first turned of them are unhealthy.
func observe(total, turned int) []distribution.DomainObservation {
	var seen []distribution.DomainObservation
	for i := range total {
		health := distribution.Healthy
		if i < turned {
			health = distribution.Unhealthy
		}
		seen = append(seen, see(string(rune('a'+i)), health))
	}
	return seen
}

// If more than half turn at once nothing changes; half or less are cordoned.
func TestTooManyAtOnce(t *testing.T) {
	t.Parallel()
	for total := 1; total <= 6; total++ {
		for turned := 1; turned <= total; turned++ {
			t.Run(fmt.Sprintf("%d of %d", turned, total), func(t *testing.T) {
				t.Parallel()
				tooMany := turned > total/2
				l := newTimeline(t)
				l.at(0, observe(total, 0)...)
				result := l.at(time.Minute, observe(total, turned)...)
				if said := status(t, result, "a").Reason == faultlinev1.ReasonTooManyDomainsUnhealthy; result.TooManyUnhealthy != tooMany || said != tooMany {
					t.Errorf("at first: too many: %t, said of a: %t, want %t", result.TooManyUnhealthy, said, tooMany)
				}
				result = l.at(time.Minute+grace, observe(total, turned)...)
				cordoned := 0
				for _, domain := range result.Domains {
					if domain.State == faultlinev1.DomainCordoned {
						cordoned++
					}
				}
				if tooMany {
					turned = 0
				}
				if result.TooManyUnhealthy != tooMany || cordoned != turned {
					t.Errorf("after the grace period: too many: %t, %d cordoned, want %t, %d", result.TooManyUnhealthy, cordoned, tooMany, turned)
				}
			})
		}
	}
}

// At once means within one grace period: a domain that was cordoned before does not count among those that turn.
func TestOneAfterTheOther(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"), good("c"))
	l.at(0, bad("a"), good("b"), good("c"))
	l.at(grace, bad("a"), bad("b"), good("c"))
	result := l.at(2*grace, bad("a"), bad("b"), good("c"))
	if result.TooManyUnhealthy || states(result)["b"] != faultlinev1.DomainCordoned {
		t.Errorf("too many: %t, %v", result.TooManyUnhealthy, states(result))
	}
}

// Without a grace period, at once means at the same time.
func TestTooManyWithoutGracePeriod(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		between time.Duration
		tooMany bool
	}{"together": {0, true}, "one after the other": {time.Second, false}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := newTimeline(t)
			l.spec.GracePeriodSeconds = new(int32)
			l.at(0, observe(3, 0)...)
			if test.between > 0 {
				l.at(time.Minute, observe(3, 1)...)
			}
			result := l.at(time.Minute+test.between, observe(3, 2)...)
			if left := len(controlPlanes(result)); result.TooManyUnhealthy != test.tooMany || (left == 3) != test.tooMany {
				t.Errorf("too many: %t, %d left for control planes, want %t", result.TooManyUnhealthy, left, test.tooMany)
			}
		})
	}
}

// While too many have turned, none is cordoned for its health. Once enough have recovered, the remaining ones are cordoned
// immediately if their grace period has passed.
func TestFreezeAndThaw(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"), good("c"), good("d"), good("e"))
	l.at(0, bad("a"), good("b"), good("c"), good("d"), good("e"))
	l.at(grace, bad("a"), good("b"), good("c"), good("d"), good("e"))
	l.at(time.Hour, bad("a"), bad("b"), bad("c"), bad("d"), bad("e"), bad("new"))
	want := map[string]faultlinev1.DomainState{
		"a": faultlinev1.DomainCordoned, "b": faultlinev1.DomainActive, "c": faultlinev1.DomainActive,
		"d": faultlinev1.DomainActive, "e": faultlinev1.DomainActive, "new": faultlinev1.DomainCordoned,
	}
	frozen := l.at(2*time.Hour, bad("a"), bad("b"), bad("c"), bad("d"), bad("e"), bad("new"))
	if !frozen.TooManyUnhealthy || !maps.Equal(states(frozen), want) {
		t.Fatalf("too many: %t, frozen %v, want %v", frozen.TooManyUnhealthy, states(frozen), want)
	}
	for name, reason := range map[string]string{"a": broken, "b": faultlinev1.ReasonTooManyDomainsUnhealthy, "new": broken} {
		if got := status(t, frozen, name); got.Reason != reason {
			t.Errorf("%s: %+v", name, got)
		}
	}
	if got := status(t, frozen, "b").Message; !strings.Contains(got, "more than half of the domains turned unhealthy at once: if it is down, cordon it in spec.distribution") {
		t.Errorf("b: %s", got)
	}
	want = map[string]faultlinev1.DomainState{
		"a": faultlinev1.DomainCordoned, "b": faultlinev1.DomainCordoned, "c": faultlinev1.DomainActive,
		"d": faultlinev1.DomainActive, "e": faultlinev1.DomainActive, "new": faultlinev1.DomainActive,
	}
	thawed := l.at(2*time.Hour, good("a"), bad("b"), good("c"), good("d"), good("e"), good("new"))
	if thawed.TooManyUnhealthy || !maps.Equal(states(thawed), want) {
		t.Errorf("too many: %t, %v, want %v", thawed.TooManyUnhealthy, states(thawed), want)
	}
}

// A domain that was cordoned for its health takes machines again once it is repaired, however many others have turned meanwhile.
// These stay published, because a control plane without domains would place its machines anywhere.
func TestARepairedDomainIsActiveAgainWhileTooManyOthersAreDown(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"), good("c"))
	l.at(0, bad("a"), good("b"), good("c"))
	l.at(grace, bad("a"), good("b"), good("c"))
	l.at(time.Hour, good("a"), good("b"), good("c"))
	result := l.at(time.Hour+time.Minute, good("a"), bad("b"), bad("c"))
	if got := status(t, result, "a"); !result.TooManyUnhealthy || got.State != faultlinev1.DomainCordoned || got.Reason != faultlinev1.ReasonHoldPeriod {
		t.Fatalf("too many: %t, a in its hold period: %+v", result.TooManyUnhealthy, got)
	}
	if result.NextCheck != grace {
		t.Errorf("next check in %s, want %s", result.NextCheck, grace)
	}
	for _, after := range []time.Duration{time.Hour + hold, 24 * time.Hour} {
		result = l.at(after, good("a"), bad("b"), bad("c"))
		want := map[string]faultlinev1.DomainState{"a": faultlinev1.DomainActive, "b": faultlinev1.DomainActive, "c": faultlinev1.DomainActive}
		if !result.TooManyUnhealthy || !maps.Equal(states(result), want) || len(controlPlanes(result)) != 3 {
			t.Fatalf("%s: too many: %t, %v, for control planes %v", after, result.TooManyUnhealthy, states(result), controlPlanes(result))
		}
	}
	l.spec = wants("b", "Cordoned")
	result = l.at(25*time.Hour, good("a"), bad("b"), bad("c"))
	if got := states(result); result.TooManyUnhealthy || got["c"] != faultlinev1.DomainCordoned || !slices.Equal(controlPlanes(result), []string{"a"}) {
		t.Errorf("a user who cordons one has the other judged: too many: %t, %v", result.TooManyUnhealthy, got)
	}
}

// A new domain is used as soon as it is seen Healthy, however many others have turned.
func TestANewDomainIsActiveWhileTooManyOthersAreDown(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, observe(3, 0)...)
	result := l.at(time.Minute, append(observe(3, 3), good("new"))...)
	if !result.TooManyUnhealthy || states(result)["new"] != faultlinev1.DomainActive {
		t.Errorf("too many: %t, %v", result.TooManyUnhealthy, states(result))
	}
}

// The user's intent applies while too many have turned.
func TestFreezeLeavesIntentAlone(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, observe(3, 0)...)
	l.spec = wants("c", "Evicting")
	result := l.at(time.Minute, observe(3, 2)...)
	if !result.TooManyUnhealthy || states(result)["c"] != faultlinev1.DomainEvicting {
		t.Errorf("too many: %t, %v", result.TooManyUnhealthy, states(result))
	}
}

// Switching off a domain after it was cordoned is expected: it does not count, so the next domain that fails is cordoned as
// usual.
func TestWithdrawnDomainsDoNotVote(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.spec = wants("a", "Cordoned")
	l.at(0, good("a"), good("b"), good("c"))
	l.at(0, bad("a"), bad("b"), good("c"))
	result := l.at(grace, bad("a"), bad("b"), good("c"))
	if result.TooManyUnhealthy || states(result)["b"] != faultlinev1.DomainCordoned {
		t.Errorf("too many: %t, %v", result.TooManyUnhealthy, states(result))
	}
}

// If nothing can be observed, the health is Unknown, not Unhealthy: nothing has turned.
func TestUnknownDoesNotTurn(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, observe(3, 0)...)
	result := l.at(time.Hour, unknown("a"), unknown("b"), unknown("c"))
	if result.TooManyUnhealthy || len(controlPlanes(result)) != 3 {
		t.Errorf("too many: %t, for control planes: %v", result.TooManyUnhealthy, controlPlanes(result))
	}
}
