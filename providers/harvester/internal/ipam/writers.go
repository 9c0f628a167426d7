// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

const (
	// writersAnnotation on an IPPool names the writers that may have a write in flight that adds a holder to a block, and the sections of
	// these blocks.
	writersAnnotation = "loadbalancer.harvesterhci.io/writers"
	// fencedAnnotation on an IPPool or IPPoolBlock is changed only to give it a new resourceVersion.
	fencedAnnotation = "loadbalancer.harvesterhci.io/fenced"
	// maxOpen is the approximate number of sections that a writer has open. The next writer must fence their blocks.
	maxOpen = 16
	// maxWriters is the maximum number of former writers in the annotation.
	maxWriters = 4
)

// writers maps each writer of a pool to the sections that it has open, by their first addresses.
type writers map[string][]netip.Addr

// readWriters parses the annotation. If it is invalid, an unknown writer may write to any block.
func readWriters(annotation string, blocks []*allocation.Record) writers {
	w := writers{}
	if annotation == "" {
		return w
	}
	if err := json.Unmarshal([]byte(annotation), &w); err != nil || w == nil {
		w = writers{}
		for _, r := range blocks {
			w[""] = append(w[""], r.Section())
		}
	}
	return w
}

// others returns the sections that other writers have open.
func (w writers) others(name string) (all []netip.Addr) {
	for writer, open := range w {
		if writer != name {
			all = append(all, open...)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// hasOthers reports whether another writer may write without updating the annotation first.
func (w writers) hasOthers(name string) bool {
	_, own := w[name]
	return len(w) > 1 || len(w) == 1 && !own
}

// writer returns a name that is unique to this process.
func (c *Claimer) writer() string {
	c.named.Do(func() { c.own = rand.Text() })
	return c.own
}

// open ensures that no other writer adds a holder to a block based on stale state, and that the next writer can ensure the same. It
// returns false if the stored pool has changed.
func (q *queue) open(ctx context.Context, _ []*change) (bool, error) {
	p, me := q.pool, q.writer()
	added, shared := p.added(), !p.sole && p.writers.hasOthers(me)
	if !shared && p.opened(me, added) {
		p.sole = true
		return true, nil
	}
	err := q.takeOver(ctx, added, shared)
	return err == nil, notConflict(err)
}

// takeOver adds the writer and the sections that it adds holders to to the annotation of the pool. If shared is set, it fences the other
// writers. A writer that adds nothing and does not keep the pool cached need not be in the annotation.
func (q *queue) takeOver(ctx context.Context, added []*allocation.Record, shared bool) error {
	p := q.pool
	named := !shared || q.resident || len(added) > 0
	if named {
		if err := q.enlist(ctx, added); err != nil {
			return err
		}
	}
	if shared {
		if err := q.fenceSections(ctx, p.writers.others(q.writer())); err != nil {
			return err
		}
	}
	p.sole = named
	if named && len(p.writers) > maxWriters {
		return q.enlist(ctx, added)
	}
	return nil
}

// fenceSections makes all writes in flight to blocks of the sections fail. A write to a missing block has the resourceVersion of a
// deleted one.
func (q *queue) fenceSections(ctx context.Context, sections []netip.Addr) error {
	var all []*allocation.Record
	for _, r := range q.pool.Blocks() {
		if r.Version != "" && slices.Contains(sections, r.Section()) {
			all = append(all, r)
		}
	}
	return worst(all, each(all, func(r *allocation.Record) error { return conflict(r, q.touch(ctx, r)) }))
}

// notConflict returns nil for a conflict, and otherwise err.
func notConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// enlist records the open sections in the annotation of the pool. Sections of other writers stay there until they have been fenced
// afterwards: a writer that had them open must enlist again, and fails because the pool has changed. Missing blocks are created empty
// beforehand, so that they can be fenced and a late creation does no harm. A resident writer creates all blocks of a section, so that
// this happens once per section.
func (q *queue) enlist(ctx context.Context, added []*allocation.Record) error {
	p, me := q.pool, q.writer()
	var open []netip.Addr
	var missing []*allocation.Record
	for _, r := range added {
		if !slices.Contains(open, r.Section()) {
			open = append(open, r.Section())
			missing = append(missing, p.Missing(r.Section(), q.resident)...)
		}
	}
	failed := each(missing, func(r *allocation.Record) error { return conflict(r, q.create(ctx, r)) })
	if err := worst(missing, failed); err != nil {
		return err
	}
	for _, first := range p.writers[me] {
		if len(open) < maxOpen && !slices.Contains(open, first) {
			open = append(open, first)
		}
	}
	next := writers{}
	if !p.sole {
		next = maps.Clone(p.writers)
	}
	next[me] = open
	text, err := json.Marshal(next)
	if err != nil {
		return fmt.Errorf("recording the writers of IPPoolBlocks: %w", err)
	}
	if err := q.annotate(ctx, p.Own(), writersAnnotation, string(text)); err != nil {
		q.markUncertain(p.Own(), err)
		return err
	}
	p.writers = next
	return nil
}

// create creates the empty block of a record.
func (q *queue) create(ctx context.Context, r *allocation.Record) error {
	block := q.pool.NewBlock(r)
	if err := q.h.Create(ctx, block); err != nil {
		return fmt.Errorf("creating IPPoolBlock %s: %w", block.Name, err)
	}
	r.Version, r.UID = block.ResourceVersion, block.UID
	return nil
}

// touch gives an object a new resourceVersion and changes nothing else.
func (q *queue) touch(ctx context.Context, r *allocation.Record) error {
	return q.annotate(ctx, r, fencedAnnotation, r.Version)
}

// added returns the blocks that get an additional holder.
func (p *poolState) added() (all []*allocation.Record) {
	for _, r := range p.Waiting() {
		if r.IsBlock() && r.Adds() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *allocation.Record) int { return a.Of.Addr().Compare(b.Of.Addr()) })
	return all
}

// opened reports whether the writer has the sections of all of the blocks open. A block that must be created is not open: it may have
// been deleted since.
func (p *poolState) opened(writer string, blocks []*allocation.Record) bool {
	return !slices.ContainsFunc(blocks, func(r *allocation.Record) bool {
		return r.Version == "" || !slices.Contains(p.writers[writer], r.Section())
	})
}
