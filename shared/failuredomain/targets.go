// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"cmp"
	"slices"
)

// targets is the number of machines each listed domain should hold, with bound
// saying how many one can hold at most.
func (l *layout) targets(replicas int, bound func(*place) int) map[string]int {
	targets := make(map[string]int, len(l.domains))
	for _, p := range l.in(Evicting) {
		targets[p.name] = 0
	}
	rest := replicas
	for _, p := range l.in(Cordoned) {
		targets[p.name] = len(p.machines)
		rest -= len(p.machines)
	}
	level(l.in(Active), max(0, rest), bound, targets)
	return targets
}

// level spreads n machines over places as evenly as their bounds allow, with
// those places above the rest that hold the most.
func level(places []*place, n int, bound func(*place) int, targets map[string]int) {
	// A place whose bound is at most an even share of what is left is filled; that
	// can only raise the share of the others. So the tightest come first, and the
	// first that holds its share ends the filling.
	places = slices.SortedFunc(slices.Values(places), func(a, b *place) int {
		return cmp.Or(cmp.Compare(bound(a), bound(b)), byName(a, b))
	})
	for len(places) > 0 && bound(places[0]) <= n/len(places) {
		targets[places[0].name] = bound(places[0])
		n -= bound(places[0])
		places = places[1:]
	}
	if len(places) == 0 {
		return
	}
	share, extra := n/len(places), n%len(places)
	slices.SortFunc(places, fullestFirst)
	for i, p := range places {
		targets[p.name] = share
		if i < extra {
			targets[p.name]++
		}
	}
}

// movable is the number of moves that lead from the layout to targets, given
// that machines are neither added nor removed meanwhile.
func (l *layout) movable(targets map[string]int) int {
	supply, demand := sum(l.leaving(), held), 0
	for _, p := range l.in(Active) {
		surplus := len(p.machines) - targets[p.name]
		supply += max(0, surplus)
		demand += max(0, -surplus)
	}
	return min(supply, demand)
}

// unbounded is the bound of a place whose capacity does not matter.
func unbounded(*place) int { return unlimited }
