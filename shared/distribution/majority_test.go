// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package distribution_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/distribution"
)

// observe sees total domains, a, b, c and so on, of which the first turned are bad.
func observe(total, turned int) []distribution.Observation {
	var seen []distribution.Observation
	for i := range total {
		health := distribution.Good
		if i < turned {
			health = distribution.Bad
		}
		seen = append(seen, see(string(rune('a'+i)), health))
	}
	return seen
}

// More than half at once changes nothing; half or less is cordoned.
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

// At once means within one grace period: a domain that was cordoned before is not
// among those that turn.
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

// Without a grace period at once means at the same time.
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

// While too many have turned nothing changes in either direction. When they have
// come back, whoever's time has come changes at once.
func TestFreezeAndThaw(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, good("a"), good("b"), good("c"), good("d"), good("e"))
	l.at(0, bad("a"), good("b"), good("c"), good("d"), good("e"))
	l.at(grace, bad("a"), good("b"), good("c"), good("d"), good("e"))
	before := states(l.at(grace, good("a"), bad("b"), bad("c"), bad("d"), bad("e"), good("new")))
	frozen := l.at(time.Hour, good("a"), bad("b"), bad("c"), bad("d"), bad("e"), good("new"))
	if !frozen.TooManyUnhealthy || !maps.Equal(states(frozen), before) {
		t.Fatalf("too many: %t, before %v, frozen %v", frozen.TooManyUnhealthy, before, states(frozen))
	}
	if before["a"] != faultlinev1.DomainCordoned || before["new"] != faultlinev1.DomainCordoned {
		t.Fatalf("before: %v", before)
	}
	for _, name := range []string{"a", "b", "new"} {
		got := status(t, frozen, name)
		if got.Reason != faultlinev1.ReasonTooManyDomainsUnhealthy || !strings.Contains(got.Message, "more than half of the domains") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	want := map[string]faultlinev1.DomainState{
		"a": faultlinev1.DomainActive, "b": faultlinev1.DomainCordoned, "c": faultlinev1.DomainActive,
		"d": faultlinev1.DomainActive, "e": faultlinev1.DomainActive, "new": faultlinev1.DomainActive,
	}
	thawed := l.at(time.Hour, good("a"), bad("b"), good("c"), good("d"), good("e"), good("new"))
	if thawed.TooManyUnhealthy || !maps.Equal(states(thawed), want) {
		t.Errorf("too many: %t, %v, want %v", thawed.TooManyUnhealthy, states(thawed), want)
	}
}

// The user's word counts while the view is sick.
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

// A domain that is switched off after it was cordoned is no surprise: it does not
// vote, so the next one to go is cordoned as it would be without it.
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

// A view that is lost altogether is Unknown, not Bad: nothing has turned.
func TestUnknownDoesNotTurn(t *testing.T) {
	t.Parallel()
	l := newTimeline(t)
	l.at(0, observe(3, 0)...)
	result := l.at(time.Hour, unknown("a"), unknown("b"), unknown("c"))
	if result.TooManyUnhealthy || len(controlPlanes(result)) != 3 {
		t.Errorf("too many: %t, for control planes: %v", result.TooManyUnhealthy, controlPlanes(result))
	}
}
