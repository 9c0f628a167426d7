// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// tidied is how many blocks are removed at a time: claims wait meanwhile.
const tidied = 64

// tidy drops from the history what is in no range, is held or cannot be read, has the counts stored if they are others, and blocks that say
// nothing removed. It reports whether that, or else the pool's status as it is told to, changes anything that is stored.
func (p *Pool) tidy(status bool) (changed bool) {
	for _, r := range p.records() {
		for given := range r.history {
			if f := p.former.of[parsed(given)]; f.given != given || f.in != r || !p.ranges.Gives(parsed(given)) {
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
func (p *Pool) idle() (all []*Record) {
	turn := sectionOf(p.last)
	for of, r := range p.blocks {
		awaits := turn.Overlaps(of) && turn != of
		if r.IsEmpty() && r.Version != "" && !awaits && len(all) < tidied {
			all = append(all, r)
		}
	}
	return all
}

// rested are blocks that say of addresses that they rest which do not any more.
func (p *Pool) rested() (all []*Record) {
	for _, r := range p.blocks {
		if len(r.releasedChanges) > 0 && r.Version != "" && len(all) < tidied {
			all = append(all, r)
		}
	}
	return all
}

// parsed is an address, or the zero Addr for what is none.
func parsed(given string) netip.Addr {
	addr, _ := ipaddr.Parse(given)
	return addr
}

func (p *Pool) records() []*Record {
	return append([]*Record{p.own}, slices.Collect(maps.Values(p.blocks))...)
}
