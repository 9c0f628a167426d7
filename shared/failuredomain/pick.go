// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"cmp"
	"fmt"
	"slices"
)

// Pick chooses the domain for one new machine: among the Active domains with capacity, the one with the fewest machines, then by
// name. Machines that are deleting do not count. Outdated machines only decide between domains that are equal without them: a
// rollout deletes them in an unknown order, and the remaining machines must be spread once the last one is deleted.
//
// The error wraps ErrNoDomain if no domain is Active, and ErrNoCapacity if no Active domain has capacity.
func Pick(domains []Domain, machines []Machine) (string, error) {
	l, err := layOut(domains, machines)
	if err != nil {
		return "", fmt.Errorf("picking a failure domain: %w", err)
	}
	open, err := l.open()
	if err != nil {
		return "", fmt.Errorf("picking a failure domain: %w", err)
	}
	return slices.MinFunc(open, func(a, b *domainState) int {
		return cmp.Or(cmp.Compare(a.upToDate(), b.upToDate()), cmp.Compare(len(a.machines), len(b.machines)), byName(a, b))
	}).name, nil
}

// upToDate returns the number of machines in the place that no rollout replaces.
func (p *domainState) upToDate() int {
	n := 0
	for _, machine := range p.machines {
		if !machine.Outdated {
			n++
		}
	}
	return n
}

// open returns the Active domains with capacity, by name. It returns an error if none exists.
func (l *layout) open() ([]*domainState, error) {
	active := l.in(Active)
	if len(active) == 0 {
		return nil, fmt.Errorf("%w among %d listed", ErrNoDomain, len(l.domains))
	}
	open := slices.DeleteFunc(slices.Clone(active), func(p *domainState) bool { return p.room == 0 })
	if len(open) == 0 {
		return nil, fmt.Errorf("%w among %d that are active", ErrNoCapacity, len(active))
	}
	return open, nil
}

// Victim chooses the machine to remove when scaling down by one. It is chosen from the machines in no domain or in unknown
// domains, otherwise from those in Evicting domains, otherwise from the Active or Cordoned domain with the most machines, the
// first by name among equal ones. Among these an unhealthy machine is removed first, then the oldest, then by name.
//
// Machines that are deleting are neither counted nor chosen. The error wraps ErrNoMachine if there are no others.
func Victim(domains []Domain, machines []Machine) (string, error) {
	l, err := layOut(domains, machines)
	if err != nil {
		return "", fmt.Errorf("choosing a machine to remove: %w", err)
	}
	groups := l.candidates()
	if len(groups) == 0 {
		return "", fmt.Errorf("choosing a machine to remove: %w", ErrNoMachine)
	}
	return slices.MinFunc(groups[0], func(a, b *Machine) int {
		return cmp.Or(unhealthyFirst(a, b), oldestFirst(a, b))
	}).Name, nil
}

// Candidates returns the machines whose removal harms the spread no more than that of Victim: those in places that must be
// emptied, all in one group, otherwise those of each of the domains with the most machines, by name of the domain. Victim is in
// the first group. Unhealthy machines of a group should be removed first.
func Candidates(domains []Domain, machines []Machine) ([][]*Machine, error) {
	l, err := layOut(domains, machines)
	if err != nil {
		return nil, fmt.Errorf("choosing machines to remove: %w", err)
	}
	return l.candidates(), nil
}

// candidates returns the machines among which Victim chooses, in groups. No group is empty.
func (l *layout) candidates() [][]*Machine {
	if machines := together(l.strays); len(machines) > 0 {
		return [][]*Machine{machines}
	}
	if machines := together(l.in(Evicting)); len(machines) > 0 {
		return [][]*Machine{machines}
	}
	staying := slices.Concat(l.in(Active), l.in(Cordoned))
	slices.SortFunc(staying, fullestFirst)
	var groups [][]*Machine
	for _, p := range staying {
		if len(p.machines) > 0 && len(p.machines) == len(staying[0].machines) {
			groups = append(groups, p.machines)
		}
	}
	return groups
}

func together(places []*domainState) []*Machine {
	var machines []*Machine
	for _, p := range places {
		machines = append(machines, p.machines...)
	}
	return machines
}

func unhealthyFirst(a, b *Machine) int {
	switch {
	case a.Unhealthy == b.Unhealthy:
		return 0
	case a.Unhealthy:
		return -1
	default:
		return 1
	}
}
