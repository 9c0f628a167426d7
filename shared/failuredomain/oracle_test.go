// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// outcome rates a final placement: as few machines as possible in domains that they must leave, then as even as possible, then
// with as few moves as possible.
type outcome struct {
	left   int // machines in no domain, an unknown or an Evicting one
	uneven int // sum of the squares of the counts of Active domains
	moves  int
	barred bool // a domain received more machines than its capacity
}

func (o outcome) betterThan(other outcome) bool {
	return slices.Compare([]int{o.left, o.uneven, o.moves}, []int{other.left, other.uneven, other.moves}) < 0
}

// bestOutcome tries every way to leave each machine in its domain or to move it to an Active domain.
func bestOutcome(domains []fd.Domain, machines []fd.Machine) outcome {
	open := slices.DeleteFunc(slices.Clone(domains), func(d fd.Domain) bool { return !isActive(d) })
	to := make([]string, len(machines))
	var best *outcome
	var try func(int)
	try = func(i int) {
		if i == len(machines) {
			if o := scorePlan(domains, machines, to); !o.barred && (best == nil || o.betterThan(*best)) {
				best = &o
			}
			return
		}
		to[i] = machines[i].Domain
		try(i + 1)
		for _, domain := range open {
			if domain.Name != machines[i].Domain && !isCordoned(domains, machines[i].Domain) {
				to[i] = domain.Name
				try(i + 1)
			}
		}
	}
	try(0)
	return *best
}

// scorePlan rates the placement of each machine in the place that to has for it.
func scorePlan(domains []fd.Domain, machines []fd.Machine, to []string) outcome {
	o := outcome{left: len(machines)}
	for i := range machines {
		if machines[i].Domain != to[i] {
			o.moves++
		}
	}
	for _, domain := range domains {
		count, received := 0, 0
		for i := range machines {
			if to[i] == domain.Name {
				count++
				if machines[i].Domain != to[i] {
					received++
				}
			}
		}
		if domain.State != fd.Evicting {
			o.left -= count
		}
		if isActive(domain) {
			o.uneven += count * count
			o.barred = o.barred || domain.Capacity != nil && received > max(0, *domain.Capacity)
		}
	}
	return o
}

func isActive(domain fd.Domain) bool { return domain.State == "" || domain.State == fd.Active }

func isCordoned(domains []fd.Domain, name string) bool {
	return slices.ContainsFunc(domains, func(d fd.Domain) bool { return d.Name == name && d.State == fd.Cordoned })
}

// checkBest compares a plan with the best of all outcomes.
func checkBest(t rapid.TB, domains []fd.Domain, machines []fd.Machine) {
	t.Helper()
	plan := balance(t, domains, machines, len(machines))
	_, moved := apply(t, domains, machines, plan.Moves)
	to := make([]string, len(moved))
	for i := range moved {
		to[i] = moved[i].Domain
	}
	got, want := scorePlan(domains, machines, to), bestOutcome(domains, machines)
	if len(domains) == 0 {
		return // an empty plan by definition
	}
	if got.betterThan(want) || want.betterThan(got) || len(plan.Moves) != got.moves {
		t.Fatalf("plan %+v of %v gives %+v, but there is %+v", plan, countIn(machines), got, want)
	}
	// The plan reports the moves that it does not make.
	if got.left > 0 && !slices.Contains(reasons(plan), fd.ReasonNoCapacity) {
		t.Fatalf("%d machines are left and the plan does not say why: %+v", got.left, plan)
	}
}

// All cases with up to four machines in three domains, Active or Evicting, with every relevant capacity, and one unknown domain.
func TestPlanIsBestExhaustively(t *testing.T) {
	t.Parallel()
	states := []fd.State{fd.Active, fd.Evicting}
	limits := []*int{nil, room(0), room(1)}
	var shapes [][]fd.Domain
	for i := range 6 * 6 * 6 {
		domain := func(name string, code int) fd.Domain {
			return fd.Domain{Name: name, State: states[code%2], Capacity: limits[code/2]}
		}
		shapes = append(shapes, []fd.Domain{domain("a", i%6), domain("b", i/6%6), domain("c", i/36)})
	}
	for _, machines := range arrangements(4, "a", "b", "c", "gone") {
		for _, domains := range shapes {
			checkBest(t, domains, machines)
		}
	}
}

// arrangements lists every way to place up to most machines, without those that differ only by exchanging machines.
func arrangements(most int, places ...string) [][]fd.Machine {
	all := [][]fd.Machine{nil}
	for _, place := range places {
		for _, machines := range slices.Clone(all) {
			for len(machines) < most {
				machines = append(slices.Clone(machines), fd.Machine{Name: fmt.Sprintf("m%d", len(machines)), Domain: place})
				all = append(all, machines)
			}
		}
	}
	return all
}

// Larger random cases, with cordoned domains.
func TestPlanIsBest(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawSettled(t)
		domains = domains[:min(len(domains), 4)]
		machines = machines[:min(len(machines), 6)]
		checkBest(t, domains, machines)
	})
}
