// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// room returns a capacity.
func room(n int) *int { return &n }

// active returns Active domains without known limits.
func active(names ...string) []fd.Domain {
	domains := make([]fd.Domain, 0, len(names))
	for _, name := range names {
		domains = append(domains, fd.Domain{Name: name})
	}
	return domains
}

// machinesIn returns one machine for each named domain, called m0, m1 and so on, each a minute younger than the previous one.
func machinesIn(domains ...string) []fd.Machine {
	first := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	machines := make([]fd.Machine, 0, len(domains))
	for i, domain := range domains {
		machines = append(machines, fd.Machine{
			Name: fmt.Sprintf("m%d", i), Domain: domain, Created: first.Add(time.Duration(i) * time.Minute),
		})
	}
	return machines
}

// apply performs moves: each machine is replaced by one of the same name in the target domain, and the capacity of both domains
// changes.
func apply(t rapid.TB, domains []fd.Domain, machines []fd.Machine, moves []fd.Move) ([]fd.Domain, []fd.Machine) {
	t.Helper()
	domains, machines = cloneDomains(domains), slices.Clone(machines)
	take := func(name string, n int) {
		for i := range domains {
			if domains[i].Name == name && domains[i].Capacity != nil {
				*domains[i].Capacity -= n
				if *domains[i].Capacity < 0 {
					t.Fatalf("no capacity in %s for one of %v", name, moves)
				}
			}
		}
	}
	for _, move := range moves {
		i := slices.IndexFunc(machines, func(m fd.Machine) bool { return m.Name == move.Machine })
		if i < 0 || machines[i].Domain != move.From {
			t.Fatalf("move %+v: no such machine there", move)
		}
		machines[i].Domain = move.To
		take(move.To, 1) // the replacement is created before the old machine is deleted
		take(move.From, -1)
	}
	return domains, machines
}

func cloneDomains(domains []fd.Domain) []fd.Domain {
	domains = slices.Clone(domains)
	for i := range domains {
		if domains[i].Capacity != nil {
			domains[i].Capacity = room(*domains[i].Capacity)
		}
	}
	return domains
}

// countIn counts machines that are not deleting by domain.
func countIn(machines []fd.Machine) map[string]int {
	counts := map[string]int{}
	for _, machine := range machines {
		if !machine.Deleting {
			counts[machine.Domain]++
		}
	}
	return counts
}

// reasons returns the reasons in a plan's Blocked list.
func reasons(plan fd.Plan) []string {
	var all []string
	for _, blocked := range plan.Blocked {
		all = append(all, blocked.Reason)
	}
	return all
}
