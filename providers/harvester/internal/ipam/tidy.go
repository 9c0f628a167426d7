// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"maps"
	"net/netip"
	"slices"
)

// tidy drops from the history what is in no range, is held or cannot be read, has the counts stored if they are others, and blocks that say
// nothing removed. It reports whether that, or else the pool's status as it is told to, changes anything that is stored.
func (p *Pool) tidy(status bool) (changed bool) {
	for _, r := range p.records() {
		for given := range r.history {
			addr, ok := parse(given)
			if !ok || !p.spread.gives(addr) || p.former.of[addr].given != given || p.former.of[addr].in != r {
				r.forget(given)
			}
		}
		stale := !r.isBlock() && (status || len(r.historyChanges) > 0 || p.counts() != p.stored)
		if stale || r.isBlock() && r.isEmpty() {
			r.urgent = true
			p.touched = append(p.touched, r)
			changed = true
		}
	}
	return changed
}

func (p *Pool) records() []*record {
	return append([]*record{p.own}, slices.Collect(maps.Values(p.blocks))...)
}

// waiting are the records that somebody waits for to be stored.
func (p *Pool) waiting() []*record {
	return slices.DeleteFunc(p.records(), func(r *record) bool { return !r.urgent })
}

// settle forgets blocks that are not stored any more, or never were.
func (p *Pool) settle() {
	maps.DeleteFunc(p.blocks, func(_ netip.Addr, r *record) bool { return r.version == "" })
}

// keep takes from a holder of several addresses those that it does not use; the lowest stays when it uses none.
func (p *Pool) keep(id string, uses []netip.Addr) (changed bool) {
	held := slices.Clone(p.byID[id])
	used := func(addr netip.Addr) bool { return slices.Contains(uses, addr) }
	if lowest, ok := p.lowest(id); ok && !slices.ContainsFunc(held, used) {
		uses = []netip.Addr{lowest}
	}
	for _, addr := range held {
		if !used(addr) {
			p.drop(addr, id)
			changed = true
		}
	}
	return changed
}
