// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Own is the record of the pool itself.
func (p *Pool) Own() *Record { return p.own }

// Block is that of the block for these addresses; nil when there is none.
func (p *Pool) Block(of netip.Prefix) *Record { return p.blocks[of] }

// Blocks are those of all blocks, also of such as are to be made.
func (p *Pool) Blocks() []*Record { return slices.Collect(maps.Values(p.blocks)) }

// InBlocks reports whether holders are in blocks, or may be.
func (p *Pool) InBlocks() bool { return p.inBlocks || len(p.blocks) > 0 }

// NeedsBlocks reports whether new holders are to go into blocks from now on, and did not so far: the pool's own status would become too large
// with so many more, or there are blocks.
func (p *Pool) NeedsBlocks(more int) bool {
	holders := len(p.own.allocated) + p.entering() + more
	return !p.inBlocks && (len(p.blocks) > 0 || holders > max(MaxInPool, len(p.own.allocated)))
}

// UseBlocks has new holders go into blocks.
func (p *Pool) UseBlocks() { p.inBlocks = true }

// Refresh has the pool say again who has the addresses that nobody holds and somebody has, and ends the rest of those that have rested.
func (p *Pool) Refresh(now time.Time) {
	for addr := range p.kept {
		p.enter(addr)
	}
	p.rouseAll(now)
}

// Apply makes a change. Touched are the records that it has read or changed, and that have to be stored as they are then for it to be true.
func (p *Pool) Apply(change func(*Pool) (bool, error)) (touched []*Record, changed bool, err error) {
	p.touched = nil
	changed, err = change(p)
	return p.touched, changed, err
}

// Changes are what of a record is to be stored, for the object as it is known.
func (p *Pool) Changes(r *Record) map[string]any {
	if r.IsBlock() {
		return r.changes()
	}
	return r.status(p.counts(), p.conditions)
}

// Stored notes that the object is as the record.
func (p *Pool) Stored(r *Record) {
	if !r.IsBlock() {
		p.stored = p.counts()
	}
	r.stored()
}

// Waiting are the records that somebody waits for to be stored.
func (p *Pool) Waiting() []*Record {
	return slices.Collect(maps.Keys(p.urgent))
}

// Conclude notes that everything is stored, and forgets blocks that are not any more, or never were. It returns who was entered.
func (p *Pool) Conclude() (entered []Entry) {
	for r := range p.urgent {
		if r.IsBlock() && r.Version == "" {
			delete(p.blocks, r.Of)
		}
	}
	clear(p.urgent)
	entered, p.entered = p.entered, nil
	return entered
}
