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
	// writersAnnotation of a pool says who may have a write on its way that adds a holder to a block, and to which.
	writersAnnotation = "loadbalancer.harvesterhci.io/writers"
	// fencedAnnotation changes with nothing but the version of an object.
	fencedAnnotation = "loadbalancer.harvesterhci.io/fenced"
	// maxOpen is about how many sections a writer has open, the blocks of which the next writer has to fence.
	maxOpen = 16
	// maxWriters is how many writers are written down that do not write any more.
	maxWriters = 4
)

// writers are the sections that each writer of a pool has open, by their first addresses.
type writers map[string][]netip.Addr

// readWriters reads the annotation. Of one that says nothing that can be read, somebody may write any block.
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

// others are the sections that somebody else has open.
func (w writers) others(name string) (all []netip.Addr) {
	for writer, open := range w {
		if writer != name {
			all = append(all, open...)
		}
	}
	slices.SortFunc(all, netip.Addr.Compare)
	return slices.Compact(all)
}

// hasOthers reports whether somebody else may write without telling it first.
func (w writers) hasOthers(name string) bool {
	_, own := w[name]
	return len(w) > 1 || len(w) == 1 && !own
}

// writer is a name that no other process has.
func (c *Claimer) writer() string {
	c.named.Do(func() { c.own = rand.Text() })
	return c.own
}

// open makes sure that no other writer adds a holder to a block from what it knows so far, and that whoever comes next can make sure of the
// same. It is false when the pool is another by now.
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

// takeOver names the writer in the pool with the sections that it adds to, and keeps others from writing, if it is shared with some. Who adds
// nothing, and forgets the pool, need not name itself.
func (q *queue) takeOver(ctx context.Context, added []*allocation.Record, shared bool) error {
	p := q.pool
	named := !shared || q.resident || len(added) > 0
	if named {
		if err := q.enlist(ctx, added); err != nil {
			return err
		}
	}
	if shared {
		if err := q.shut(ctx, p.writers.others(q.writer())); err != nil {
			return err
		}
	}
	p.sole = named
	if named && len(p.writers) > maxWriters {
		return q.enlist(ctx, added)
	}
	return nil
}

// shut has all writes fail that are on their way to blocks of the sections. What is written to one that is not there has the version of one
// that is gone.
func (q *queue) shut(ctx context.Context, sections []netip.Addr) error {
	var all []*allocation.Record
	for _, r := range q.pool.Blocks() {
		if r.Version != "" && slices.Contains(sections, r.Section()) {
			all = append(all, r)
		}
	}
	return worst(all, each(all, func(r *allocation.Record) error { return conflict(r, q.touch(ctx, r)) }))
}

// notConflict is no error for one that says that the pool is another by now.
func notConflict(err error) error {
	if apierrors.IsConflict(err) {
		return nil
	}
	return err
}

// enlist writes down in the pool which sections are open. Others' stay there until they have been fenced after that: then who had them open
// has to do the same again, and fails when the pool is another. Blocks are made before, and empty, so that they can be fenced and one that
// is made late is in nobody's way; who stays makes all of a section, so that this is done once for it.
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
		return fmt.Errorf("writing down who writes blocks: %w", err)
	}
	if err := q.annotate(ctx, p.Own(), writersAnnotation, string(text)); err != nil {
		q.doubt(p.Own(), err)
		return err
	}
	p.writers = next
	return nil
}

// create makes the block of a record, with nothing in it.
func (q *queue) create(ctx context.Context, r *allocation.Record) error {
	block := q.pool.NewBlock(r)
	if err := q.h.Create(ctx, block); err != nil {
		return fmt.Errorf("creating IPPoolBlock %s: %w", block.Name, err)
	}
	r.Version, r.UID = block.ResourceVersion, block.UID
	return nil
}

// touch gives an object another version and nothing else.
func (q *queue) touch(ctx context.Context, r *allocation.Record) error {
	return q.annotate(ctx, r, fencedAnnotation, r.Version)
}

// added are the blocks that get a holder more.
func (p *known) added() (all []*allocation.Record) {
	for _, r := range p.Waiting() {
		if r.IsBlock() && r.Adds() {
			all = append(all, r)
		}
	}
	slices.SortFunc(all, func(a, b *allocation.Record) int { return a.Of.Addr().Compare(b.Of.Addr()) })
	return all
}

// opened reports whether the writer has the sections of all of the blocks open. One that has to be made is not: it may have been removed since.
func (p *known) opened(writer string, blocks []*allocation.Record) bool {
	return !slices.ContainsFunc(blocks, func(r *allocation.Record) bool {
		return r.Version == "" || !slices.Contains(p.writers[writer], r.Section())
	})
}
