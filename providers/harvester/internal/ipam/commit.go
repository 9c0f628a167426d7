// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

// abreast is the number of blocks of a pool that are written concurrently.
const abreast = 8

// try starts from the cached pool, or reads the pool from the API server after a conflict. It returns the changes to retry.
func (q *queue) try(ctx context.Context, batch []*change, live bool) (again []*change, _ error) {
	if ok, err := q.ensureLoaded(ctx, live || q.resident || len(q.uncertain) > 0); err != nil || !ok {
		return batch, err
	}
	for _, prepare := range []func(context.Context, []*change) (bool, error){q.fence, q.moveToBlocks, q.apply, q.open} {
		if ok, err := prepare(ctx, batch); err != nil || !ok {
			return batch, err
		}
	}
	return q.conclude(batch, q.write(ctx)), nil
}

// conclude completes the changes and returns those to retry.
func (q *queue) conclude(batch []*change, failed map[*allocation.Record]error) (again []*change) {
	for _, one := range batch {
		err := one.outcome(failed)
		if apierrors.IsConflict(err) {
			again = append(again, one)
			continue
		}
		if one.err == nil && err == nil {
			q.cacheResult(one)
		}
		one.end(cmp.Or(one.err, err))
	}
	if len(failed) == 0 {
		q.entered = append(q.entered, q.pool.Conclude()...)
	}
	if len(failed) > 0 || q.pool.shared {
		q.pool = nil // the stored state, or the holders in other pools, are unknown
	}
	return again
}

// apply applies the changes to the cached pool and confirms those that change nothing. It returns false if the stored pool has changed.
func (q *queue) apply(ctx context.Context, batch []*change) (bool, error) {
	q.pool.Refresh(time.Now())
	for _, one := range batch {
		one.touched, one.changed, one.err = q.pool.Apply(one.apply)
	}
	return q.confirm(ctx, batch)
}

// ensureLoaded reads the pool if it is not cached. It returns false if the pool changed before its blocks were read.
func (q *queue) ensureLoaded(ctx context.Context, live bool) (bool, error) {
	if q.pool != nil {
		return true, nil
	}
	from := getter(q.h)
	if live {
		from = q.h.Live()
	}
	stored, p, err := load(ctx, q.h, from, q.name, q.resident)
	if err != nil {
		return false, err
	}
	if p.InBlocks() {
		if ok, err := p.isStored(ctx, q.h, p.Own()); err != nil || !ok {
			return false, err
		}
	}
	if q.check != nil {
		held, why := q.check(ctx, stored)
		p.Stop(why)
		p.shared = p.ReserveElsewhere(held)
	}
	if err := q.reserveShown(ctx, stored, p.Pool); err != nil {
		return false, err
	}
	p.UseQuarantine(cmp.Or(q.quarantine, allocation.NewQuarantine(DefaultQuarantine, false)), time.Now())
	q.pool, q.confirmed = p, live
	return true, nil
}

// markUncertain records that a write may have been applied or may still be applied: there was no response, or a 5xx response, which may
// come from a proxy in between.
func (q *queue) markUncertain(r *allocation.Record, err error) {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError { // rejected
		return
	}
	if q.uncertain == nil {
		q.uncertain = map[netip.Prefix]bool{}
	}
	q.uncertain[r.Of] = true
}

// fence gives each object with a write in flight a new resourceVersion, so that the write fails if it arrives later. It returns false if
// the stored pool has changed.
func (q *queue) fence(ctx context.Context, _ []*change) (bool, error) {
	for of := range q.uncertain {
		r := q.pool.Own()
		if of.IsValid() {
			r = q.pool.Block(of)
		}
		if r != nil && r.Version != "" { // a write to a missing block fails anyway
			if err := conflict(r, q.touch(ctx, r)); err != nil {
				return false, notConflict(err)
			}
		}
		delete(q.uncertain, of)
	}
	return true, nil
}

// moveToBlocks moves new holders to blocks if necessary. It returns false if the stored pool has changed.
func (q *queue) moveToBlocks(ctx context.Context, batch []*change) (bool, error) {
	p, more := q.pool, 0
	for _, one := range batch {
		if one.claims {
			more++
		}
	}
	if !q.resident || !p.NeedsBlocks(more) {
		return true, nil
	}
	if err := q.annotate(ctx, p.Own(), lbv1.BlocksAnnotation, "true"); apierrors.IsConflict(err) {
		return false, nil
	} else if err != nil {
		return false, err
	}
	p.UseBlocks()
	return true, nil
}

// confirm checks the results of changes that change nothing against the stored pool. It returns false if they do not match, and
// everything must be retried.
func (q *queue) confirm(ctx context.Context, batch []*change) (bool, error) {
	if q.confirmed {
		return true, nil
	}
	records, all := q.relied(batch)
	for _, r := range records {
		if ok, err := q.pool.isStored(ctx, q.h, r); err != nil || !ok {
			return false, err
		}
	}
	if all && (q.resident || q.pool.InBlocks()) {
		return q.areBlocksStored(ctx)
	}
	return true, nil
}

// relied returns the records that must match the stored ones. If all is true, the other blocks must match, too.
func (q *queue) relied(batch []*change) (records []*allocation.Record, all bool) {
	for _, one := range batch {
		switch {
		case one.exact || one.err != nil || len(one.touched) == 0:
			return []*allocation.Record{q.pool.Own()}, true
		case !one.changed && !slices.Contains(records, one.touched[0]):
			records = append(records, one.touched[0])
		}
	}
	return records, false
}

// write stores the urgent records and returns the errors by record.
func (q *queue) write(ctx context.Context) map[*allocation.Record]error {
	failed := each(q.pool.Waiting(), func(r *allocation.Record) error { return q.put(ctx, r) })
	for r, err := range failed {
		q.markUncertain(r, err)
		failed[r] = conflict(r, err)
	}
	return failed
}

// each calls do for several records concurrently and returns the errors by record.
func each(records []*allocation.Record, do func(*allocation.Record) error) map[*allocation.Record]error {
	var mu sync.Mutex
	var wg sync.WaitGroup
	failed := map[*allocation.Record]error{}
	room := make(chan struct{}, abreast)
	for _, r := range records {
		room <- struct{}{}
		wg.Go(func() {
			defer func() { <-room }()
			if err := do(r); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed[r] = err
			}
		})
	}
	wg.Wait()
	return failed
}

// put stores a record.
func (q *queue) put(ctx context.Context, r *allocation.Record) error {
	switch {
	case r.IsBlock() && r.Version == "": // it has no holders: only enlist creates blocks
	case r.IsBlock() && r.IsEmpty():
		o := q.pool.Metadata(r)
		err := q.h.Delete(ctx, o, client.Preconditions{UID: &r.UID, ResourceVersion: &r.Version})
		if err != nil {
			return fmt.Errorf("deleting IPPoolBlock %s: %w", o.Name, err)
		}
		r.Version, r.UID = "", ""
	default:
		if err := q.patch(ctx, r, q.pool.Changes(r)); err != nil {
			return err
		}
	}
	q.pool.Stored(r)
	return nil
}

// annotate sets an annotation of the cached version of the object and changes nothing else.
func (q *queue) annotate(ctx context.Context, r *allocation.Record, key, value string) error {
	return q.patch(ctx, r, map[string]any{"metadata": map[string]any{"resourceVersion": r.Version, "annotations": map[string]string{key: value}}})
}

// patch sends the changes of a record. It decodes only the metadata of the response, because the object may be large.
func (q *queue) patch(ctx context.Context, r *allocation.Record, body map[string]any) error {
	o := q.pool.Metadata(r)
	patch, err := mergePatch(body)
	if err != nil {
		return fmt.Errorf("patching %s %s: %w", o.Kind, o.Name, err)
	}
	if err := q.h.Patch(ctx, o, patch); err != nil {
		return fmt.Errorf("patching %s %s: %w", o.Kind, o.Name, err)
	}
	r.Version = o.ResourceVersion
	return nil
}

// mergePatch returns a merge patch of the body.
func mergePatch(body map[string]any) (client.Patch, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// outcome returns the error of the records that the change depends on.
func (c *change) outcome(failed map[*allocation.Record]error) error { return worst(c.touched, failed) }

// worst returns the first error of the records that is not a conflict, or else the first conflict.
func worst(records []*allocation.Record, failed map[*allocation.Record]error) error {
	var first error
	for _, r := range records {
		if err := failed[r]; err != nil && (first == nil || !apierrors.IsConflict(err)) {
			first = err
		}
	}
	return first
}

// conflict converts the error if a block was created or deleted concurrently: that is a conflict, too.
func conflict(r *allocation.Record, err error) error {
	if r.IsBlock() && (apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)) {
		return apierrors.NewConflict(lbv1.GroupVersion.WithResource("ippoolblocks").GroupResource(), r.Of.String(), err)
	}
	return err
}
