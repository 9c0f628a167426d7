// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Balance plans the fewest moves that make the spread as even as capacity and states allow. The package comment has the rules for
// targets and moves.
//
// Moves come in this order: from no domain and from unknown domains, from Evicting domains, from the Active domain with the most
// machines after the previous moves; within a domain the oldest machine first. Each goes to the domain furthest below its target
// after the previous moves. Every move fits at its turn, even if no machine has left before.
//
// Blocked lists every reason that applies, in the order of the Reason constants. Without domains the plan is empty. Balance
// returns an error if replicas is negative or the domains are invalid.
func Balance(domains []Domain, machines []Machine, replicas int) (Plan, error) {
	if replicas < 0 {
		return Plan{}, fmt.Errorf("balancing %d replicas: must not be negative", replicas)
	}
	l, err := layOut(domains, machines)
	if err != nil {
		return Plan{}, fmt.Errorf("balancing: %w", err)
	}
	if len(l.domains) == 0 {
		return Plan{}, nil
	}
	plan := Plan{Targets: l.targets(replicas, (*domainState).bound)}
	plan.Blocked = unsettled(machines, replicas)
	if len(plan.Blocked) == 0 {
		plan.Moves = l.moves(plan.Targets)
	}
	plan.Blocked = append(plan.Blocked, l.short(plan.Targets, replicas)...)
	return plan, nil
}

// unsettled lists what blocks all moves.
func unsettled(machines []Machine, replicas int) []Blocked {
	var deleting, unhealthy []string
	for _, machine := range machines {
		if machine.Deleting {
			deleting = append(deleting, machine.Name)
		}
		if machine.Unhealthy {
			unhealthy = append(unhealthy, machine.Name)
		}
	}
	var blocked []Blocked
	if len(deleting) > 0 {
		blocked = append(blocked, Blocked{ReasonMachineDeleting, "being deleted: " + list(deleting)})
	}
	if len(unhealthy) > 0 {
		blocked = append(blocked, Blocked{ReasonMachineUnhealthy, "unhealthy: " + list(unhealthy)})
	}
	if there := len(machines) - len(deleting); there != replicas {
		blocked = append(blocked, Blocked{ReasonScaling, fmt.Sprintf("%d machines, %d replicas", there, replicas)})
	}
	return blocked
}

// short reports how the targets fall short of those without capacity limits: machines that do not fit anywhere, or moves that are
// not made.
func (l *layout) short(targets map[string]int, replicas int) []Blocked {
	active := l.in(Active)
	if len(active) == 0 {
		homeless := max(sum(l.leaving(), held), replicas-sum(l.in(Cordoned), held))
		if homeless <= 0 {
			return nil
		}
		return []Blocked{{ReasonNoCapacity, fmt.Sprintf("no failure domain is Active for %d machines", homeless)}}
	}
	ideal := l.targets(replicas, unbounded)
	missing := total(ideal) - total(targets)
	notMade := l.movable(ideal) - l.movable(targets)
	if missing <= 0 && notMade <= 0 {
		return nil
	}
	var full []string
	for _, p := range active {
		if targets[p.name] == p.bound() {
			full = append(full, p.name)
		}
	}
	return []Blocked{{ReasonNoCapacity, fmt.Sprintf("no capacity for %d more machines in: %s", max(missing, notMade), list(full))}}
}

// moves lists the moves that lead from the layout to targets.
func (l *layout) moves(targets map[string]int) []Move {
	m := newMover(l.in(Active), targets, l.movable(targets))
	for _, p := range l.leaving() {
		for _, machine := range byAge(p.machines) {
			if !m.move(machine, p.name) {
				return m.moves
			}
		}
	}
	for from := m.fullest(); from != nil; from = m.fullest() {
		if !m.move(from.next(), from.name) {
			break
		}
	}
	return m.moves
}

// list returns up to five sorted names, and the number of the others.
func list(names []string) string {
	const most = 5
	names = slices.Sorted(slices.Values(names))
	if extra := len(names) - most; extra > 0 {
		return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), extra)
	}
	return strings.Join(names, ", ")
}

func total(targets map[string]int) int {
	n := 0
	for count := range maps.Values(targets) {
		n += count
	}
	return n
}
