// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"fmt"
	"maps"
	"slices"

	"github.com/faultline-io/faultline/shared/failuredomain"
)

// Assignment assigns a domain to a machine, and a key if there are logical domains.
type Assignment struct {
	Machine, Domain, Key string
	// From is the previously assigned domain that can no longer take the machine; "" if there was none.
	From string
}

// Refusal is the reason for which a machine is not assigned a domain.
type Refusal struct {
	Machine, Deployment string
	// Key is the logical domain that it would belong to.
	Key string
	// Err wraps failuredomain.ErrNoDomain, ErrNoCapacity or both.
	Err error
}

// Assign decides which machines are assigned which domain and key. Every machine of a MachineDeployment that has no domain and
// does not exist yet is in one of the two results, the oldest first. Machines assigned to a domain that can no longer take them
// are assigned another one, if there is one. Machines that have a domain and no key are assigned a key in that domain.
//
// Assign is pure, does not depend on the order of its input, and returns no further assignments once the result is applied.
func Assign(c Cluster) ([]Assignment, []Refusal, error) {
	a, err := newAssigner(c)
	if err != nil {
		return nil, nil, err
	}
	if c.Logical > 0 {
		if err := a.assignKeys(); err != nil {
			return nil, nil, err
		}
	}
	former := a.release()
	for _, m := range byAge(a.machines, func(m *Machine) bool { return m.waits() }) {
		from := former[m.Name]
		domain, key, err := a.choose(m)
		switch {
		case err == nil:
			a.add(Assignment{Machine: m.Name, Domain: domain, Key: key, From: from})
		case from != "": // keep the assignment: the domain may take the machine again
			domain, key = from, m.Key
		default:
			a.refusals = append(a.refusals, Refusal{Machine: m.Name, Deployment: m.Deployment, Key: key, Err: err})
		}
		a.record(m, domain, key)
	}
	return a.assignments, a.refusals, nil
}

// assigner tracks the effects of the assignments that it makes.
type assigner struct {
	Cluster

	domains    []failuredomain.Domain    // those of the cluster, minus the assignments
	capacities map[string]*int           // the capacities of domains that have one
	suited     map[string]map[string]int // the cluster's Capacity, minus the assignments
	machines   []Machine
	members    map[string][]*Machine // machines of a group that have been assigned
	bound      []*Machine            // machines with a domain and a key
	newest     map[string]string     // the MachineSet of the youngest machine of each MachineDeployment

	assignments []Assignment
	refusals    []Refusal
}

func newAssigner(c Cluster) (*assigner, error) {
	if c.Logical < 0 {
		return nil, fmt.Errorf("assigning failure domains: invalid number of logical failure domains %d", c.Logical)
	}
	a := &assigner{Cluster: c, machines: slices.Clone(c.Machines), members: map[string][]*Machine{}, newest: c.newest()}
	a.domains, a.capacities = c.remainingCapacity()
	a.suited = make(map[string]map[string]int, len(c.Capacity))
	for suits, capacity := range c.Capacity {
		a.suited[suits] = maps.Clone(capacity)
	}
	for i := range a.machines {
		m := &a.machines[i]
		a.count(m)
		if m.pending() {
			a.take(m, 1)
		}
	}
	return a, nil
}

// remainingCapacity returns the cluster's domains with the capacity that remains once all assigned machines exist.
func (c Cluster) remainingCapacity() ([]failuredomain.Domain, map[string]*int) {
	domains, capacities := slices.Clone(c.Domains), map[string]*int{}
	for i := range domains {
		if domains[i].Capacity != nil {
			capacity := *domains[i].Capacity
			domains[i].Capacity = &capacity
			capacities[domains[i].Name] = &capacity
		}
	}
	for i := range c.Machines {
		if left := capacities[c.Machines[i].Domain]; left != nil && c.Machines[i].pending() {
			*left--
		}
	}
	return domains, capacities
}

// count counts the machine's placement, if it has one, for later assignments.
func (a *assigner) count(m *Machine) {
	if m.Key != "" && m.Domain != "" {
		a.bound = append(a.bound, m)
	}
	if group := a.group(m); group != "" && a.place(m) != "" {
		a.members[group] = append(a.members[group], m)
	}
}

// place returns where the machine counts: its logical domain if there are any, otherwise its domain.
func (a *assigner) place(m *Machine) string {
	if a.Logical > 0 {
		return m.Key
	}
	return m.Domain
}

// seen returns the members of the machine's group in the form of the planner.
func (a *assigner) seen(m *Machine) []failuredomain.Machine {
	members := a.members[a.group(m)]
	seen := make([]failuredomain.Machine, len(members))
	for i, other := range members {
		seen[i] = failuredomain.Machine{Name: other.Name, Domain: a.place(other), Deleting: other.Deleting, Outdated: a.outdated(other, m)}
	}
	return seen
}

// outdated reports whether a rollout replaces the other machine, from the view of the machine that is being assigned. Within its
// own MachineDeployment that machine is the new one, so machines of other MachineSets are outdated.
func (a *assigner) outdated(other, m *Machine) bool {
	if other.Deployment == m.Deployment {
		return other.Set != m.Set
	}
	return other.Set != a.newest[other.Deployment]
}

// newest maps each MachineDeployment to the MachineSet of its youngest machine.
func (c Cluster) newest() map[string]string {
	newest := map[string]string{}
	for _, m := range byAge(c.Machines, func(m *Machine) bool { return !m.Deleting }) {
		newest[m.Deployment] = m.Set
	}
	return newest
}

// take subtracts n machines from the suitable capacity of the machine's domain.
func (a *assigner) take(m *Machine, n int) {
	if capacity, limited := a.suited[m.Suits]; limited && m.Domain != "" {
		capacity[m.Domain] -= n
	}
}

// exceedsCapacity reports whether more machines have been assigned to the machine's domain than suit it.
func (a *assigner) exceedsCapacity(m *Machine) bool {
	capacity, limited := a.suited[m.Suits]
	return limited && capacity[m.Domain] < 0
}

// suitableDomains returns the domains with the capacity that suits the machine.
func (a *assigner) suitableDomains(m *Machine) []failuredomain.Domain {
	byDomain, limited := a.suited[m.Suits]
	if !limited {
		return a.domains
	}
	domains := slices.Clone(a.domains)
	for i := range domains {
		suited := max(0, byDomain[domains[i].Name])
		if capacity := domains[i].Capacity; capacity == nil || *capacity > suited {
			domains[i].Capacity = &suited
		}
	}
	return domains
}

// uncount reverts count.
func (a *assigner) uncount(m *Machine) {
	group := a.group(m)
	a.members[group] = slices.DeleteFunc(a.members[group], func(other *Machine) bool { return other == m })
	a.bound = slices.DeleteFunc(a.bound, func(other *Machine) bool { return other == m })
}

// add appends an assignment. It replaces an earlier one of a machine that was assigned a key and whose domain is changed.
func (a *assigner) add(assignment Assignment) {
	if assignment.From != "" {
		a.assignments = slices.DeleteFunc(a.assignments, func(earlier Assignment) bool { return earlier.Machine == assignment.Machine })
	}
	a.assignments = append(a.assignments, assignment)
}

// record sets the placement of a machine. Its key counts even without a domain: the machine waits for capacity for that key, and
// the next machine gets another key.
func (a *assigner) record(m *Machine, domain, key string) {
	m.Domain, m.Key = domain, key
	if left := a.capacities[domain]; left != nil {
		*left--
	}
	a.take(m, 1)
	a.count(m)
}

// assignKeys assigns a key to each machine with a domain and no key: one of those that its domain holds, otherwise any.
func (a *assigner) assignKeys() error {
	for _, m := range byAge(a.machines, func(m *Machine) bool {
		return m.Deployment != "" && m.Domain != "" && m.Key == "" && !m.Deleting
	}) {
		all := keys(m.Class, a.Logical)
		held := slices.DeleteFunc(slices.Clone(all), func(key failuredomain.Domain) bool {
			return !slices.ContainsFunc(a.bound, func(b *Machine) bool { return a.physical(b.Domain) == a.physical(m.Domain) && b.Key == key.Name })
		})
		if len(held) > 0 {
			all = held
		}
		key, err := failuredomain.Pick(all, a.seen(m))
		if err != nil {
			return err
		}
		m.Key = key
		a.count(m)
		a.add(Assignment{Machine: m.Name, Domain: m.Domain, Key: key})
	}
	return nil
}

// release releases machines from domains that can no longer take them, and returns their former domains: all machines of a
// domain that is not Active, and the youngest of a domain with more assignments than capacity.
func (a *assigner) release() map[string]string {
	active := map[string]bool{}
	for _, domain := range a.domains {
		active[domain.Name] = domain.State == failuredomain.Active || domain.State == ""
	}
	former := map[string]string{}
	ours := byAge(a.machines, func(m *Machine) bool { return m.Deployment != "" && m.pending() && !m.Named })
	slices.Reverse(ours)
	for _, m := range ours {
		left := a.capacities[m.Domain]
		if active[m.Domain] && (left == nil || *left >= 0) && !a.exceedsCapacity(m) {
			continue
		}
		if left != nil {
			*left++
		}
		a.take(m, -1)
		former[m.Name] = m.Domain
		a.uncount(m)
		m.Domain = ""
	}
	return former
}

// choose picks a domain for a machine that has none. It returns the key even if there is no domain for it.
func (a *assigner) choose(m *Machine) (domain, key string, err error) {
	if a.Logical == 0 {
		domain, err = failuredomain.Pick(a.suitableDomains(m), a.seen(m))
		return domain, m.Key, err
	}
	if key = m.Key; key == "" {
		if key, err = failuredomain.Pick(keys(m.Class, a.Logical), a.seen(m)); err != nil {
			return "", "", err
		}
	}
	domain, err = a.bind(a.suitableDomains(m), a.bound, key, func(other *Machine) bool { return a.outdated(other, m) })
	return domain, key, err
}
