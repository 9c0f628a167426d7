// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"net/netip"
	"slices"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// tidied is the maximum number of blocks that are deleted per write. Claims wait meanwhile.
const tidied = 64

// cleanUp drops history entries that are outside of the ranges, held or invalid. It stores changed counts and deletes empty blocks. It
// reports whether there is anything to store, which is also the case if status is set.
func (p *Pool) cleanUp(status bool) (changed bool) {
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
	for _, r := range append(p.idle(), p.expiredBlocks()...) {
		p.changed(r)
		changed = true
	}
	return changed
}

// idle returns blocks to delete: they are empty and are not about to be used, which blocks in the section of the last allocated address
// are.
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

// expiredBlocks returns blocks that record quarantines that are over.
func (p *Pool) expiredBlocks() (all []*Record) {
	for _, r := range p.blocks {
		if len(r.releasedChanges) > 0 && r.Version != "" && len(all) < tidied {
			all = append(all, r)
		}
	}
	return all
}

// parsed returns an address, or the zero Addr if given is invalid.
func parsed(given string) netip.Addr {
	addr, _ := ipaddr.Parse(given)
	return addr
}

func (p *Pool) records() []*Record {
	return append([]*Record{p.own}, slices.Collect(maps.Values(p.blocks))...)
}
