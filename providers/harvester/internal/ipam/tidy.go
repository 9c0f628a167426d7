// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"maps"
	"net/netip"
	"slices"
)

// tidied is how many blocks are removed at a time: claims wait meanwhile.
const tidied = 64

// tidy drops from the history what is in no range, is held or cannot be read, has the counts stored if they are others, and blocks that say
// nothing removed. It reports whether that, or else the pool's status as it is told to, changes anything that is stored.
func (p *Pool) tidy(status bool) (changed bool) {
	for _, r := range p.records() {
		for given := range r.history {
			if f := p.former.of[parsed(given)]; f.given != given || f.in != r || !p.spread.gives(parsed(given)) {
				r.forget(given)
			}
		}
	}
	if status || len(p.own.historyChanges) > 0 || len(p.own.releasedChanges) > 0 || p.counts() != p.stored {
		p.changed(p.own)
		changed = true
	}
	for _, r := range append(p.idle(), p.rested()...) {
		p.changed(r)
		changed = true
	}
	return changed
}

// idle are blocks that are to be removed: they say nothing of any address, and do not await their turn, which is soon in the section of the
// address that was given last.
func (p *Pool) idle() (all []*record) {
	turn := sectionOf(p.last)
	for of, r := range p.blocks {
		awaits := turn.Overlaps(of) && turn != of
		if r.isEmpty() && r.version != "" && !awaits && len(all) < tidied {
			all = append(all, r)
		}
	}
	return all
}

// rested are blocks that say of addresses that they rest which do not any more.
func (p *Pool) rested() (all []*record) {
	for _, r := range p.blocks {
		if len(r.releasedChanges) > 0 && r.version != "" && len(all) < tidied {
			all = append(all, r)
		}
	}
	return all
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
	return slices.Collect(maps.Keys(p.urgent))
}

// settle notes that everything is stored, and forgets blocks that are not any more, or never were. It returns who was entered.
func (p *Pool) settle() (entered []Entry) {
	for r := range p.urgent {
		if r.isBlock() && r.version == "" {
			delete(p.blocks, r.of)
		}
	}
	clear(p.urgent)
	entered, p.entered = p.entered, nil
	return entered
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
