// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import "slices"

// transfer makes moves one by one and keeps count of what they change.
type transfer struct {
	stations []station // the Active domains, by name
	moves    []Move
}

// station is an Active domain during a transfer.
type station struct {
	name          string
	count, target int
	machines      []*Machine // those still there of old
	sorted        bool       // whether machines are, oldest first
}

func newTransfer(active []*place, targets map[string]int, moves int) *transfer {
	t := &transfer{stations: make([]station, 0, len(active)), moves: slices.Grow([]Move(nil), moves)}
	for _, p := range active {
		t.stations = append(t.stations, station{
			name: p.name, count: len(p.machines), target: targets[p.name], machines: p.machines,
		})
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
	to.count++
	t.moves = append(t.moves, Move{Machine: machine.Name, From: from, To: to.name})
	return true
}

// emptiest is the first of the stations furthest below their targets, nil when
// none is below.
func (t *transfer) emptiest() *station {
	var best *station
	for i := range t.stations {
		s := &t.stations[i]
		if s.count < s.target && (best == nil || s.target-s.count > best.target-best.count) {
			best = s
		}
	}
	return best
}

// fullest is the first of the stations with the most machines among those above
// their targets, nil when none is above.
func (t *transfer) fullest() *station {
	var best *station
	for i := range t.stations {
		s := &t.stations[i]
		if s.count > s.target && (best == nil || s.count > best.count) {
			best = s
		}
	}
	return best
}

// next takes the oldest machine out of the station.
func (s *station) next() *Machine {
	if !s.sorted {
		s.machines, s.sorted = slices.SortedFunc(slices.Values(s.machines), oldestFirst), true
	}
	machine := s.machines[0]
	s.machines = s.machines[1:]
	s.count--
	return machine
}
