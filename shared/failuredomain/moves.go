// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import "slices"

// mover makes moves one by one and tracks their effects.
type mover struct {
	below, above []offTarget // the Active domains off their targets, by name
	moves        []Move
}

// offTarget is an Active domain while machines are moved.
type offTarget struct {
	name     string
	count    int
	off      int        // difference between count and target
	machines []*Machine // original machines that are still in it
	sorted   bool       // whether machines is sorted, oldest first
}

func newMover(active []*domainState, targets map[string]int, moves int) *mover {
	m := &mover{moves: slices.Grow([]Move(nil), moves)}
	for _, p := range active {
		s := offTarget{name: p.name, count: len(p.machines), machines: p.machines}
		switch off := targets[p.name] - s.count; {
		case off > 0:
			s.off = off
			m.below = append(m.below, s)
		case off < 0:
			s.off = -off
			m.above = append(m.above, s)
		}
	}
	return m
}

// move moves a machine from a domain to the one furthest below its target. It returns false if none exists.
func (m *mover) move(machine *Machine, from string) bool {
	to := m.emptiest()
	if to == nil {
		return false
	}
	to.off--
	m.moves = append(m.moves, Move{Machine: machine.Name, From: from, To: to.name})
	return true
}

// emptiest returns the first of the domains furthest below their targets; nil if none is below.
func (m *mover) emptiest() *offTarget {
	var best *offTarget
	for i := range m.below {
		if s := &m.below[i]; s.off > 0 && (best == nil || s.off > best.off) {
			best = s
		}
	}
	return best
}

// fullest returns the first of the domains with the most machines among those above their targets; nil if none is above.
func (m *mover) fullest() *offTarget {
	var best *offTarget
	for i := range m.above {
		if s := &m.above[i]; s.off > 0 && (best == nil || s.count > best.count) {
			best = s
		}
	}
	return best
}

// next removes and returns the oldest machine of the domain.
func (s *offTarget) next() *Machine {
	if !s.sorted {
		s.machines, s.sorted = byAge(s.machines), true
	}
	machine := s.machines[0]
	s.machines = s.machines[1:]
	s.count--
	s.off--
	return machine
}
