// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// FuzzBalance searches for an input for which a plan violates an invariant: plans blocked by anything but missing capacity have
// no moves, moves fit and lead towards the targets, and the targets add up.
func FuzzBalance(f *testing.F) {
	for size := range 8 {
		f.Add(make([]byte, size*64))
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		domains, machines, replicas := drawAny(t)
		plan := balance(t, domains, machines, replicas)
		checkBlocked(t, plan)
		checkTargets(t, plan, domains, machines, replicas)
		domains, machines = apply(t, domains, machines, plan.Moves)
		if len(plan.Moves) > 0 {
			checkMoved(t, plan, domains, machines)
		}
	}))
}

// checkBlocked checks that a plan blocked by anything but missing capacity has no moves, and that no reason occurs twice.
func checkBlocked(t *rapid.T, plan fd.Plan) {
	blocked := reasons(plan)
	for _, reason := range blocked {
		if reason != fd.ReasonNoCapacity && len(plan.Moves) > 0 {
			t.Fatalf("blocked by %s and yet %+v", reason, plan.Moves)
		}
	}
	if unique := slices.Compact(slices.Sorted(slices.Values(blocked))); len(unique) != len(blocked) {
		t.Fatalf("a reason is repeated: %v", blocked)
	}
}

// checkTargets checks that the targets add up to the replicas, unless capacity is missing or cordoned domains hold more machines
// than that.
func checkTargets(t *rapid.T, plan fd.Plan, domains []fd.Domain, machines []fd.Machine, replicas int) {
	if len(domains) == 0 {
		if len(plan.Targets)+len(plan.Moves)+len(plan.Blocked) > 0 {
			t.Fatalf("no domains, and yet %+v", plan)
		}
		return
	}
	total, cordoned, counts := 0, 0, countIn(machines)
	for _, domain := range domains {
		total += plan.Targets[domain.Name]
		if domain.State == fd.Cordoned {
			cordoned += counts[domain.Name]
		}
	}
	short := slices.Contains(reasons(plan), fd.ReasonNoCapacity)
	if total != max(replicas, cordoned) && (!short || total > replicas) {
		t.Fatalf("targets add up to %d, want %d: %+v", total, max(replicas, cordoned), plan)
	}
}

// checkMoved checks that after the moves only Evicting domains, because of missing capacity elsewhere, are off their targets.
func checkMoved(t *rapid.T, plan fd.Plan, domains []fd.Domain, machines []fd.Machine) {
	counts := countIn(machines)
	for _, domain := range domains {
		if domain.State != fd.Evicting && counts[domain.Name] != plan.Targets[domain.Name] {
			t.Fatalf("%s holds %d, target %d: %+v", domain.Name, counts[domain.Name], plan.Targets[domain.Name], plan)
		}
	}
}
