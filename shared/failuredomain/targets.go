// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package failuredomain

import (
	"cmp"
	"slices"
)

// targets returns the number of machines that each listed domain should hold; bound returns the maximum for a place.
func (l *layout) targets(replicas int, bound func(*domainState) int) map[string]int {
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

// level spreads n machines over places as evenly as their bounds allow. The places with the most machines get the remainder.
func level(places []*domainState, n int, bound func(*domainState) int, targets map[string]int) {
	// A place whose bound is at most an even share of the rest is filled. That can only raise the share of the others, so the
	// places with the lowest bounds come first, and the first one that can hold its share ends the loop.
	places = slices.SortedFunc(slices.Values(places), func(a, b *domainState) int {
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

// movable returns the number of moves that lead from the layout to targets, provided that no machine is added or removed
// meanwhile.
func (l *layout) movable(targets map[string]int) int {
	supply, demand := sum(l.leaving(), held), 0
	for _, p := range l.in(Active) {
		surplus := len(p.machines) - targets[p.name]
		supply += max(0, surplus)
		demand += max(0, -surplus)
	}
	return min(supply, demand)
}

// unbounded is the bound of a place whose capacity is ignored.
func unbounded(*domainState) int { return unlimited }
