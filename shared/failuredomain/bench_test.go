// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"fmt"
	"testing"
	"time"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// sizes lists the numbers of machines and domains for the benchmarks.
var sizes = []struct{ machines, domains int }{{100, 3}, {1_000, 10}, {10_000, 100}}

// fleet returns machines spread over all domains, over half of them, or in one, with names and ages in no particular order.
func fleet(machines, domains, used int) ([]fd.Domain, []fd.Machine) {
	list := make([]fd.Domain, 0, domains)
	for i := range domains {
		list = append(list, fd.Domain{Name: fmt.Sprintf("zone-%03d", i), Capacity: room(machines)})
	}
	all := make([]fd.Machine, 0, machines)
	for i := range machines {
		shuffled := i * 7919 % machines
		all = append(all, fd.Machine{
			Name: fmt.Sprintf("machine-%05d", shuffled), Domain: list[i%used].Name, Created: time.Unix(int64(shuffled/4), 0),
		})
	}
	return list, all
}

func BenchmarkBalance(b *testing.B) {
	for _, size := range sizes {
		for name, used := range map[string]int{"even": size.domains, "half": (size.domains + 1) / 2, "one": 1} {
			b.Run(fmt.Sprintf("machines=%d/domains=%d/%s", size.machines, size.domains, name), func(b *testing.B) {
				domains, machines := fleet(size.machines, size.domains, used)
				moves := 0
				for b.Loop() {
					plan, err := fd.Balance(domains, machines, len(machines))
					if err != nil {
						b.Fatal(err)
					}
					moves = len(plan.Moves)
				}
				b.ReportMetric(float64(moves), "moves")
			})
		}
	}
}

// BenchmarkBalanceStrays is the worst case: every machine must move.
func BenchmarkBalanceStrays(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("machines=%d/domains=%d", size.machines, size.domains), func(b *testing.B) {
			domains, machines := fleet(size.machines, size.domains, size.domains)
			for i := range machines {
				machines[i].Domain = ""
			}
			for b.Loop() {
				if _, err := fd.Balance(domains, machines, len(machines)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkPick(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("machines=%d/domains=%d", size.machines, size.domains), func(b *testing.B) {
			domains, machines := fleet(size.machines, size.domains, size.domains)
			for b.Loop() {
				if _, err := fd.Pick(domains, machines); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkVictim(b *testing.B) {
	for _, size := range sizes {
		b.Run(fmt.Sprintf("machines=%d/domains=%d", size.machines, size.domains), func(b *testing.B) {
			domains, machines := fleet(size.machines, size.domains, size.domains)
			for b.Loop() {
				if _, err := fd.Victim(domains, machines); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
