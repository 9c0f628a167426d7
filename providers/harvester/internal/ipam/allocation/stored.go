// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"maps"
	"net/netip"
	"slices"
	"time"
)

// Own returns the record of the pool itself.
func (p *Pool) Own() *Record { return p.own }

// Block returns the record of the block for a prefix, or nil.
func (p *Pool) Block(of netip.Prefix) *Record { return p.blocks[of] }

// Blocks returns the records of all blocks, including those to create.
func (p *Pool) Blocks() []*Record { return slices.Collect(maps.Values(p.blocks)) }

// InBlocks reports whether holders are, or may be, in blocks.
func (p *Pool) InBlocks() bool { return p.inBlocks || len(p.blocks) > 0 }

// NeedsBlocks reports whether new holders must be stored in blocks from now on and were not so far: the status of the pool would become
// too large with more holders, or blocks exist.
func (p *Pool) NeedsBlocks(more int) bool {
	holders := len(p.own.allocated) + p.entering() + more
	return !p.inBlocks && (len(p.blocks) > 0 || holders > max(MaxInPool, len(p.own.allocated)))
}

// UseBlocks stores new holders in blocks.
func (p *Pool) UseBlocks() { p.inBlocks = true }

// Refresh records load balancers again whose reserved addresses have no holder, and ends quarantines that are over.
func (p *Pool) Refresh(now time.Time) {
	for addr := range p.reservations {
		p.enter(addr)
	}
	p.endQuarantines(now)
}

// Apply applies a change. touched are the records that it has read or changed; the result is valid only if they are stored in this state.
func (p *Pool) Apply(change func(*Pool) (bool, error)) (touched []*Record, changed bool, err error) {
	p.touched = nil
	changed, err = change(p)
	return p.touched, changed, err
}

// Changes returns the patch of a record for its known resourceVersion.
func (p *Pool) Changes(r *Record) map[string]any {
	if r.IsBlock() {
		return r.changes()
	}
	return r.status(p.counts(), p.conditions)
}

// Stored records that the object matches the record.
func (p *Pool) Stored(r *Record) {
	if !r.IsBlock() {
		p.stored = p.counts()
	}
	r.stored()
}

// Waiting returns the records that must be stored now.
func (p *Pool) Waiting() []*Record {
	return slices.Collect(maps.Keys(p.urgent))
}

// Conclude records that everything is stored and drops blocks that are not stored any more or never were. It returns the load balancers
// that were recorded again.
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
