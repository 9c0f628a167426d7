// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// The properties are those that a balancer over failure domains should have. Each is named at its check.

// drawDomains draws up to six domains with any state and capacity.
func drawDomains(t *rapid.T) []fd.Domain {
	names := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b", "c", "d", "e", "f"}), 0, 6, rapid.ID).Draw(t, "names")
	domains := make([]fd.Domain, 0, len(names))
	for _, name := range names {
		domain := fd.Domain{Name: name}
		// Active in both spellings, because most domains are Active.
		domain.State = rapid.SampledFrom([]fd.State{"", fd.Active, fd.Cordoned, fd.Evicting}).Draw(t, "state")
		if rapid.Bool().Draw(t, "limited") {
			domain.Capacity = room(rapid.IntRange(-1, 4).Draw(t, "capacity"))
		}
		domains = append(domains, domain)
	}
	return domains
}

// drawActive draws Active domains without limits.
func drawActive(t *rapid.T, least int) []fd.Domain {
	return active([]string{"a", "b", "c", "d", "e", "f"}[:rapid.IntRange(least, 6).Draw(t, "domains")]...)
}

// drawMachines draws settled machines in any of domains and strays, with many in the same one.
func drawMachines(t *rapid.T, domains []fd.Domain, strays ...string) []fd.Machine {
	places := slices.Clone(strays)
	for _, domain := range domains {
		places = append(places, domain.Name)
	}
	if len(places) == 0 {
		places = []string{""}
	}
	crowded := rapid.SampledFrom(places).Draw(t, "crowded")
	count := rapid.IntRange(0, 16).Draw(t, "machines")
	machines := make([]fd.Machine, 0, count)
	for i := range count {
		machines = append(machines, fd.Machine{
			Name:    fmt.Sprintf("m%02d", i),
			Domain:  rapid.SampledFrom([]string{crowded, rapid.SampledFrom(places).Draw(t, "domain")}).Draw(t, "crowd"),
			Created: time.Unix(int64(rapid.IntRange(0, 3).Draw(t, "created")), 0),
		})
	}
	return machines
}

// drawSettled draws an input in which only capacity blocks a move.
func drawSettled(t *rapid.T) ([]fd.Domain, []fd.Machine) {
	domains := drawDomains(t)
	return domains, drawMachines(t, domains, []string{"", "gone", "lost"}[:rapid.IntRange(0, 3).Draw(t, "strays")]...)
}

// drawAny draws an input that is settled, or one in which machines may be deleting or unhealthy and replicas is any number.
func drawAny(t *rapid.T) ([]fd.Domain, []fd.Machine, int) {
	domains, machines := drawSettled(t)
	if rapid.Bool().Draw(t, "settled") {
		return domains, machines, len(machines)
	}
	for i := range machines {
		machines[i].Deleting = rapid.IntRange(0, 4).Draw(t, "deleting") == 0
		machines[i].Unhealthy = rapid.IntRange(0, 4).Draw(t, "unhealthy") == 0
	}
	return domains, machines, rapid.IntRange(0, 20).Draw(t, "replicas")
}

func balance(t rapid.TB, domains []fd.Domain, machines []fd.Machine, replicas int) fd.Plan {
	t.Helper()
	plan, err := fd.Balance(domains, machines, replicas)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// P1: with enough capacity, the final counts of two Active domains differ by at most one, and no machine stays in a domain that
// it must leave.
func TestPlanIsEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains := drawActive(t, 1)
		domains = append(domains, fd.Domain{Name: "x", State: fd.Cordoned}, fd.Domain{Name: "y", State: fd.Evicting})
		machines := drawMachines(t, domains, "", "gone")
		plan := balance(t, domains, machines, len(machines))
		if len(plan.Blocked) > 0 {
			t.Fatalf("blocked: %+v", plan.Blocked)
		}
		_, moved := apply(t, domains, machines, plan.Moves)
		checkCounts(t, plan, domains, moved)
	})
}

// checkCounts checks that the machines match the plan's targets and are spread evenly.
func checkCounts(t *rapid.T, plan fd.Plan, domains []fd.Domain, machines []fd.Machine) {
	counts := countIn(machines)
	least, most, placed := len(machines), 0, 0
	for _, domain := range domains {
		if counts[domain.Name] != plan.Targets[domain.Name] {
			t.Fatalf("%s holds %d, target %d", domain.Name, counts[domain.Name], plan.Targets[domain.Name])
		}
		placed += counts[domain.Name]
		if domain.State == "" {
			least, most = min(least, counts[domain.Name]), max(most, counts[domain.Name])
		}
	}
	if placed != len(machines) || counts["y"] != 0 {
		t.Fatalf("machines are left behind: %v", counts)
	}
	if most-least > 1 {
		t.Fatalf("skew %d: %v", most-least, counts)
	}
}

// P2: every move either takes a machine from a domain that it must leave, or lowers the sum of the squares of the counts. So no
// sequence of plans goes in circles.
func TestEveryMoveGains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawSettled(t)
		plan := balance(t, domains, machines, len(machines))
		for i, move := range plan.Moves {
			counts := countIn(machines)
			if staying(domains, move.From) && counts[move.From] < counts[move.To]+2 {
				t.Fatalf("move %d of %+v gains nothing: %v", i, plan.Moves, counts)
			}
			if !staying(domains, move.To) {
				t.Fatalf("move %d of %+v leads where machines must not be", i, plan.Moves)
			}
			domains, machines = apply(t, domains, machines, plan.Moves[i:i+1])
			// Performing one move and planning again is equivalent to continuing the plan.
			if rest := balance(t, domains, machines, len(machines)); len(rest.Moves) != len(plan.Moves)-i-1 {
				t.Fatalf("after move %d of %+v the plan is %+v", i, plan.Moves, rest.Moves)
			}
		}
	})
}

// staying reports whether machines in a domain may stay there.
func staying(domains []fd.Domain, name string) bool {
	return slices.ContainsFunc(domains, func(d fd.Domain) bool { return d.Name == name && d.State != fd.Evicting })
}

// Moves come from no domain and unknown domains, then from Evicting domains, then from the domain with the most machines; within
// a domain the oldest machine first. Each goes to the domain furthest below its target. Ties are broken by name.
func TestOrderOfMoves(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawSettled(t)
		plan := balance(t, domains, machines, len(machines))
		last := -1
		gone := map[string]bool{}
		for i, move := range plan.Moves {
			counts := countIn(machines)
			rank := rankOf(domains, move.From)
			if rank < last {
				t.Fatalf("move %d of %+v is out of order", i, plan.Moves)
			}
			last = rank
			for _, domain := range domains {
				checkTo(t, plan, counts, domain, move)
				if rank == 2 {
					checkFrom(t, plan, counts, domain, move)
				}
			}
			checkOldest(t, machines, gone, move)
			gone[move.Machine] = true
			domains, machines = apply(t, domains, machines, plan.Moves[i:i+1])
		}
	})
}

// rankOf returns 0 for a place that is not listed, 1 for an Evicting domain, otherwise 2.
func rankOf(domains []fd.Domain, name string) int {
	for _, domain := range domains {
		switch {
		case domain.Name != name:
		case domain.State == fd.Evicting:
			return 1
		default:
			return 2
		}
	}
	return 0
}

// checkTo checks that a move does not skip a domain further below its target.
func checkTo(t *rapid.T, plan fd.Plan, counts map[string]int, other fd.Domain, move fd.Move) {
	below := func(name string) int { return plan.Targets[name] - counts[name] }
	if d := below(other.Name) - below(move.To); isActive(other) && (d > 0 || d == 0 && other.Name < move.To) {
		t.Fatalf("%+v passes over %s: %v of %v", move, other.Name, counts, plan.Targets)
	}
}

// checkFrom checks that a move does not skip a domain above its target with more machines.
func checkFrom(t *rapid.T, plan fd.Plan, counts map[string]int, other fd.Domain, move fd.Move) {
	above := counts[other.Name] > plan.Targets[other.Name]
	if d := counts[other.Name] - counts[move.From]; isActive(other) && above && (d > 0 || d == 0 && other.Name < move.From) {
		t.Fatalf("%+v passes over %s: %v of %v", move, other.Name, counts, plan.Targets)
	}
}

// checkOldest checks that no machine that was in the domain before any move should have been moved before that of a move.
func checkOldest(t *rapid.T, machines []fd.Machine, gone map[string]bool, move fd.Move) {
	i := slices.IndexFunc(machines, func(m fd.Machine) bool { return m.Name == move.Machine })
	for _, other := range machines {
		if other.Domain != move.From || gone[other.Name] {
			continue
		}
		if d := other.Created.Compare(machines[i].Created); d < 0 || d == 0 && other.Name < move.Machine {
			t.Fatalf("%+v comes before %s, which is older", move, other.Name)
		}
	}
}

// P3: among Active domains with capacity, the number of moves matches the closed form: just enough that no domain stays above the
// maximum or below the minimum.
func TestFewestMovesClosedForm(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains := drawActive(t, 1)
		machines := drawMachines(t, domains)
		counts, n, d := countIn(machines), len(machines), len(domains)
		least, most := n/d, (n+d-1)/d
		above, below := 0, 0
		for _, domain := range domains {
			above += max(0, counts[domain.Name]-most)
			below += max(0, least-counts[domain.Name])
		}
		if got := len(balance(t, domains, machines, n).Moves); got != max(above, below) {
			t.Fatalf("%d moves, want %d: %v", got, max(above, below), counts)
		}
	})
}

// P4 and P5: every decision is the same for any order of domains and machines, and each time. No argument is modified.
func TestDecisionsAreDeterministic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines, replicas := drawAny(t)
		decide := func(domains []fd.Domain, machines []fd.Machine) []any {
			plan := balance(t, domains, machines, replicas)
			pick, pickErr := fd.Pick(domains, machines)
			victim, victimErr := fd.Victim(domains, machines)
			return []any{plan, pick, fmt.Sprint(pickErr), victim, fmt.Sprint(victimErr)}
		}
		domainsBefore, machinesBefore := cloneDomains(domains), slices.Clone(machines)
		want := decide(domains, machines)
		if !reflect.DeepEqual(domains, domainsBefore) || !slices.Equal(machines, machinesBefore) {
			t.Fatal("an argument was modified")
		}
		shuffled := decide(rapid.Permutation(domains).Draw(t, "shuffledDomains"), rapid.Permutation(machines).Draw(t, "shuffledMachines"))
		if again := decide(domains, machines); !reflect.DeepEqual(again, want) || !reflect.DeepEqual(shuffled, want) {
			t.Fatalf("decided %+v, then %+v, in another order %+v", want, again, shuffled)
		}
	})
}

// P6: planning the result of a plan yields no moves.
func TestPlanIsIdempotent(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawSettled(t)
		first := balance(t, domains, machines, len(machines))
		domains, machines = apply(t, domains, machines, first.Moves)
		if second := balance(t, domains, machines, len(machines)); len(second.Moves) != 0 {
			t.Fatalf("first %+v, then %+v", first.Moves, second.Moves)
		}
	})
}

// P7: nothing moves while every machine is in an Active domain and no two of these differ by more than one.
func TestEvenSpreadIsLeftAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawEven(t, 1)
		if plan := balance(t, domains, machines, len(machines)); len(plan.Moves) != 0 || len(plan.Blocked) != 0 {
			t.Fatalf("plan %+v for %v", plan, countIn(machines))
		}
	})
}

// drawEven draws Active domains and machines spread evenly over them, with the remainder in any of them.
func drawEven(t *rapid.T, least int) ([]fd.Domain, []fd.Machine) {
	domains := drawActive(t, least)
	order := rapid.Permutation(domains).Draw(t, "order")
	machines := drawMachines(t, domains)
	for i := range machines {
		machines[i].Domain = order[i%len(order)].Name
	}
	return domains, machines
}

// P12: other names in the same order yield the same plan.
func TestNamesCountByOrderOnly(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines, replicas := drawAny(t)
		want := balance(t, domains, machines, replicas)
		rename := func(name string) string {
			if name == "" {
				return ""
			}
			return "zone-" + name
		}
		for i := range domains {
			domains[i].Name = rename(domains[i].Name)
		}
		for i := range machines {
			machines[i].Domain = rename(machines[i].Domain)
		}
		got := balance(t, domains, machines, replicas)
		for i, move := range want.Moves {
			want.Moves[i] = fd.Move{Machine: move.Machine, From: rename(move.From), To: rename(move.To)}
		}
		if !slices.Equal(got.Moves, want.Moves) || !slices.Equal(reasons(got), reasons(want)) {
			t.Fatalf("got %+v, want %+v", got, want)
		}
		for name, target := range want.Targets {
			if got.Targets[rename(name)] != target {
				t.Fatalf("targets: got %v, want %v", got.Targets, want.Targets)
			}
		}
	})
}

// P13: a domain added to an even spread receives its share, and nothing else moves.
func TestAddedDomain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawEven(t, 1)
		domains = append(domains, fd.Domain{Name: rapid.SampledFrom([]string{"Z", "z"}).Draw(t, "added")})
		plan := balance(t, domains, machines, len(machines))
		if want := len(machines) / len(domains); len(plan.Moves) != want {
			t.Fatalf("%d moves, want %d", len(plan.Moves), want)
		}
		for _, move := range plan.Moves {
			if move.To != domains[len(domains)-1].Name {
				t.Fatalf("%+v does not lead to the added domain", move)
			}
		}
	})
}

// P14: if a domain of an even spread is removed or Evicting, only its machines move.
func TestRemovedDomain(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawEven(t, 2)
		i := rapid.IntRange(0, len(domains)-1).Draw(t, "removed")
		removed := domains[i].Name
		if rapid.Bool().Draw(t, "evicting") {
			domains[i].State = fd.Evicting
		} else {
			domains = slices.Delete(domains, i, i+1)
		}
		plan := balance(t, domains, machines, len(machines))
		if want := countIn(machines)[removed]; len(plan.Moves) != want {
			t.Fatalf("%d moves, want %d", len(plan.Moves), want)
		}
		for _, move := range plan.Moves {
			if move.From != removed {
				t.Fatalf("%+v is not from the removed domain", move)
			}
		}
	})
}

// Scaling by Pick and Victim from an even spread keeps it even, so that Balance has no moves afterwards.
func TestScalingKeepsEven(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		domains, machines := drawEven(t, 1)
		for i, up := range rapid.SliceOfN(rapid.Bool(), 0, 12).Draw(t, "up") {
			if !up && len(machines) > 0 {
				victim, err := fd.Victim(domains, machines)
				if err != nil {
					t.Fatal(err)
				}
				machines = slices.DeleteFunc(machines, func(m fd.Machine) bool { return m.Name == victim })
				continue
			}
			domain, err := fd.Pick(domains, machines)
			if err != nil {
				t.Fatal(err)
			}
			machines = append(machines, fd.Machine{Name: fmt.Sprintf("new%02d", i), Domain: domain})
		}
		if plan := balance(t, domains, machines, len(machines)); len(plan.Moves) != 0 {
			t.Fatalf("plan %+v for %v", plan, countIn(machines))
		}
	})
}
