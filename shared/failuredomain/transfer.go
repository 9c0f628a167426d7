// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import "slices"

// transfer makes moves one by one and keeps count of what they change.
type transfer struct {
	below, above []station // the Active domains off their targets, by name
	moves        []Move
}

// station is an Active domain during a transfer.
type station struct {
	name     string
	count    int
	off      int        // how far count is from its target
	machines []*Machine // those still there of old
	sorted   bool       // whether machines are, oldest first
}

func newTransfer(active []*place, targets map[string]int, moves int) *transfer {
	t := &transfer{moves: slices.Grow([]Move(nil), moves)}
	for _, p := range active {
		s := station{name: p.name, count: len(p.machines), machines: p.machines}
		switch off := targets[p.name] - s.count; {
		case off > 0:
			s.off = off
			t.below = append(t.below, s)
		case off < 0:
			s.off = -off
			t.above = append(t.above, s)
		}
	}
	return t
}

// move sends a machine that is in from to the domain furthest below its target.
// It returns false if there is none.
func (t *transfer) move(machine *Machine, from string) bool {
	to := t.emptiest()
	if to == nil {
		return false
	}
	to.off--
	t.moves = append(t.moves, Move{Machine: machine.Name, From: from, To: to.name})
	return true
}

// emptiest is the first of the stations furthest below their targets, nil when
// none is below.
func (t *transfer) emptiest() *station {
	var best *station
	for i := range t.below {
		if s := &t.below[i]; s.off > 0 && (best == nil || s.off > best.off) {
			best = s
		}
	}
	return best
}

// fullest is the first of the stations with the most machines among those above
// their targets, nil when none is above.
func (t *transfer) fullest() *station {
	var best *station
	for i := range t.above {
		if s := &t.above[i]; s.off > 0 && (best == nil || s.count > best.count) {
			best = s
		}
	}
	return best
}

// next takes the oldest machine out of the station.
func (s *station) next() *Machine {
	if !s.sorted {
		s.machines, s.sorted = byAge(s.machines), true
	}
	machine := s.machines[0]
	s.machines = s.machines[1:]
	s.count--
	s.off--
	return machine
}
