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
			if f := p.former.of[parsed(given)]; f.given != given || f.in != r || !p.spread.gives(parsed(given)) {
				r.forget(given)
			}
		}
		stale := r.isEmpty()
		if !r.isBlock() {
			stale = status || len(r.historyChanges) > 0 || p.counts() != p.stored
		}
		if stale {
			r.urgent, changed = true, true
			p.touched = append(p.touched, r)
		}
	}
	return changed
}

// parsed is an address, or the zero Addr for what is none.
func parsed(given string) netip.Addr {
	addr, _ := parse(given)
	return addr
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
