// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"cmp"
	"fmt"
	"slices"
)

// Pick chooses the domain for one new machine: among the Active domains with
// room, the one with the fewest machines, then by name. Machines that are
// deleting do not count. Outdated machines count only between domains that are
// equal without them: a rollout deletes them in an order that Pick does not know,
// and the machines that remain must be spread when the last of them is gone.
//
// The error is ErrNoDomain if no domain is Active, and ErrNoCapacity if none that
// is has room.
func Pick(domains []Domain, machines []Machine) (string, error) {
	l, err := layOut(domains, machines)
	if err != nil {
		return "", fmt.Errorf("picking a failure domain: %w", err)
	}
	open, err := l.open()
	if err != nil {
		return "", fmt.Errorf("picking a failure domain: %w", err)
	}
	return slices.MinFunc(open, func(a, b *place) int {
		return cmp.Or(cmp.Compare(a.upToDate(), b.upToDate()), cmp.Compare(len(a.machines), len(b.machines)), byName(a, b))
	}).name, nil
}

// upToDate counts the machines of the place that no rollout replaces.
func (p *place) upToDate() int {
	n := 0
	for _, machine := range p.machines {
		if !machine.Outdated {
			n++
		}
	}
	return n
}

// open returns the Active domains with room, by name: at least one, or an error
// that says why there is none.
func (l *layout) open() ([]*place, error) {
	active := l.in(Active)
	if len(active) == 0 {
		return nil, fmt.Errorf("%w among %d listed", ErrNoDomain, len(l.domains))
	}
	open := slices.DeleteFunc(slices.Clone(active), func(p *place) bool { return p.room == 0 })
	if len(open) == 0 {
		return nil, fmt.Errorf("%w among %d that are active", ErrNoCapacity, len(active))
	}
	return open, nil
}

// Victim chooses the machine to remove when scaling down by one. It is taken
// from the machines nowhere and in unknown domains if there are any, else from
// those in Evicting domains, else from the fullest of the Active and Cordoned
// domains, of equally full ones the first by name. Among these an unhealthy
// machine goes first, then the oldest, then by name.
//
// Machines that are deleting neither count nor are chosen. The error is
// ErrNoMachine if there are no others.
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

// Candidates are the machines of which one can be removed with as little harm to
// the spread as when Victim is: those in places that must be emptied, all of them
// in one group, else those of each of the fullest domains, by name of the domain.
// Victim is of the first group. Of each group the unhealthy machines are to go
// first.
func Candidates(domains []Domain, machines []Machine) ([][]*Machine, error) {
	l, err := layOut(domains, machines)
	if err != nil {
		return nil, fmt.Errorf("choosing machines to remove: %w", err)
	}
	return l.candidates(), nil
}

// candidates are the machines among which Victim chooses, in groups. None is empty.
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

func together(places []*place) []*Machine {
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
