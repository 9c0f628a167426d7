// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	fd "github.com/faultline-io/faultline/shared/failuredomain"
)

// checkIndexMap checks that there are as many moves, from the same domains.
func checkIndexMap(t *testing.T, c placementCase) {
	t.Helper()
	var machines []fd.Machine
	for _, machine := range decode[[]namedMachine](t, c.Machines) {
		machines = append(machines, fd.Machine{Name: machine.Name, Domain: machine.FD, Deleting: machine.Deleting})
	}
	plan := balance(t, active(c.Domains...), machines, c.Replicas)
	var from, want []string
	for _, move := range plan.Moves {
		from = append(from, move.From)
	}
	for _, move := range c.Moves {
		want = append(want, move.From)
	}
	if !slices.Equal(from, want) {
		t.Errorf("moves %+v, want from %v", plan.Moves, want)
	}
	_, moved := apply(t, active(c.Domains...), machines, plan.Moves)
	if got, want := multiset(countIn(moved)), multiset(countValues(decode[map[string]string](t, c.Expect))); !slices.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
}

// checkBaseMap checks that the targets have the same counts, in any domains.
func checkBaseMap(t *testing.T, c placementCase) {
	t.Helper()
	var machines []fd.Machine
	for name, domain := range decode[map[string]string](t, c.Machines) {
		machines = append(machines, fd.Machine{Name: name, Domain: domain})
	}
	plan := balance(t, active(c.Domains...), machines, c.Replicas)
	if got, want := multiset(plan.Targets), multiset(countValues(decode[map[string]string](t, c.Expect))); !slices.Equal(got, want) {
		t.Errorf("targets %v, want %v", got, want)
	}
}

// checkReconcile checks that there are as many moves, with the same final counts.
func checkReconcile(t *testing.T, c placementCase) {
	t.Helper()
	var names []string
	for _, name := range c.Base {
		names = append(names, name.(string))
	}
	before, after := decode[map[string]string](t, c.Machines), decode[map[string]string](t, c.Expect)
	var machines []fd.Machine
	changed := 0
	for index, domain := range before {
		machines = append(machines, fd.Machine{Name: index, Domain: domain})
		if after[index] != domain {
			changed++
		}
	}
	plan := balance(t, active(names...), machines, len(machines))
	if len(plan.Moves) != changed {
		t.Errorf("moves %+v, want %d", plan.Moves, changed)
	}
	_, moved := apply(t, active(names...), machines, plan.Moves)
	if got, want := countIn(moved), countValues(after); !maps.Equal(got, want) {
		t.Errorf("counts %v, want %v", got, want)
	}
}

func checkPickFewest(t *testing.T, c placementCase) {
	t.Helper()
	got, err := fd.Pick(active(c.Domains...), named(c.All))
	if len(c.AnyOf) == 0 {
		if !errors.Is(err, fd.ErrNoDomain) {
			t.Errorf("got %q, %v, want %v", got, err, fd.ErrNoDomain)
		}
		return
	}
	if err != nil || !slices.Contains(c.AnyOf, got) {
		t.Errorf("got %q, %v, want one of %v", got, err, c.AnyOf)
	}
}

func checkPickMost(t *testing.T, c placementCase) {
	t.Helper()
	got, err := fd.Victim(active(c.Domains...), named(c.All))
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(c.All, func(m namedMachine) bool { return m.Name == got })
	if !slices.Contains(c.AnyOf, c.All[i].FD) {
		t.Errorf("got %s in %s, want one in %v", got, c.All[i].FD, c.AnyOf)
	}
}

func named(all []namedMachine) []fd.Machine {
	var machines []fd.Machine
	for _, machine := range all {
		machines = append(machines, fd.Machine{Name: machine.Name, Domain: machine.FD, Deleting: machine.Deleting})
	}
	return machines
}

// checkBinPack checks that logical domains are balanced like any others.
func checkBinPack(t *testing.T, c placementCase) {
	t.Helper()
	expect := decode[struct {
		Min, Max int
		Replace  map[string]int
		Total    *int           `json:"replace_total"`
		Add      map[string]int `json:"add"`
		Final    []int          `json:"final_multiset"`
	}](t, c.Expect)
	var domains, where []string
	for i := range c.Count {
		domains = append(domains, string(rune('1'+i)))
	}
	for _, domain := range slices.Sorted(maps.Keys(c.Current)) {
		where = append(where, slices.Repeat([]string{domain}, c.Current[domain])...)
	}
	plan := balance(t, active(domains...), machinesIn(where...), c.Processes)
	for domain, target := range plan.Targets {
		if target < expect.Min || target > expect.Max {
			t.Errorf("target of %s is %d, want %d to %d", domain, target, expect.Min, expect.Max)
		}
	}
	from, to := map[string]int{}, map[string]int{}
	for _, move := range plan.Moves {
		from[move.From]++
		to[move.To]++
	}
	if expect.Replace != nil && !maps.Equal(from, expect.Replace) {
		t.Errorf("moves from %v, want %v", from, expect.Replace)
	}
	if expect.Add != nil && !maps.Equal(to, expect.Add) {
		t.Errorf("moves to %v, want %v", to, expect.Add)
	}
	if expect.Total != nil && len(plan.Moves) != *expect.Total {
		t.Errorf("%d moves, want %d", len(plan.Moves), *expect.Total)
	}
	if got := multiset(plan.Targets); expect.Final != nil && !slices.Equal(got, expect.Final) {
		t.Errorf("targets %v, want %v", got, expect.Final)
	}
}

// planExpectation is the expectation of an ours.plan case.
type planExpectation struct {
	Moves     int
	From      *string
	To        string
	AnyOf     []string `json:"to_any_of"`
	Final     map[string]int
	Multiset  []int `json:"final_multiset"`
	Reason    string
	When      string
	ElseMoves int `json:"else_moves"`
}

func checkPlan(t *testing.T, c placementCase) {
	t.Helper()
	expect := decode[planExpectation](t, c.Expect)
	domains := active(c.Domains...)
	for i := range domains {
		if slices.Contains(c.Evict, domains[i].Name) {
			domains[i].State = fd.Evicting
		}
	}
	var where []string
	for _, domain := range decode[[]*string](t, c.Machines) {
		if domain == nil {
			domain = new(string)
		}
		where = append(where, *domain)
	}
	machines := machinesIn(where...)
	for _, i := range c.Deleting {
		machines[i].Deleting = true
	}
	checkPlanExpectation(t, expect, domains, machines, c.Replicas)
	if expect.When == "capacity(c)>0" {
		full := slices.Clone(domains)
		full[slices.IndexFunc(full, func(d fd.Domain) bool { return d.Name == "c" })].Capacity = room(0)
		plan := balance(t, full, machines, c.Replicas)
		if len(plan.Moves) != expect.ElseMoves || !slices.Equal(reasons(plan), []string{fd.ReasonNoCapacity}) {
			t.Errorf("with c full: %+v, want %d moves and %s", plan, expect.ElseMoves, fd.ReasonNoCapacity)
		}
	}
}

func checkPlanExpectation(t *testing.T, expect planExpectation, domains []fd.Domain, machines []fd.Machine, replicas int) {
	t.Helper()
	plan := balance(t, domains, machines, replicas)
	if len(plan.Moves) != expect.Moves {
		t.Fatalf("moves %+v, want %d", plan.Moves, expect.Moves)
	}
	for _, move := range plan.Moves {
		if expect.From != nil && move.From != *expect.From ||
			expect.To != "" && move.To != expect.To ||
			expect.AnyOf != nil && !slices.Contains(expect.AnyOf, move.To) {
			t.Errorf("move %+v, want %+v", move, expect)
		}
	}
	_, moved := apply(t, domains, machines, plan.Moves)
	if counts := countIn(moved); expect.Final != nil && !maps.Equal(counts, expect.Final) ||
		expect.Multiset != nil && !slices.Equal(multiset(counts), expect.Multiset) {
		t.Errorf("counts %v, want %v%v", counts, expect.Final, expect.Multiset)
	}
	if strings.Contains(expect.Reason, "deletion") && !slices.Contains(reasons(plan), fd.ReasonMachineDeleting) {
		t.Errorf("blocked %+v, want %s", plan.Blocked, fd.ReasonMachineDeleting)
	}
}
