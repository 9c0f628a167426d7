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

// abreast is how many blocks of a pool are written at a time.
const abreast = 8

// try begins with what is known, and reads the pool itself after somebody else has changed it. It returns what is to be tried again.
func (q *queue) try(ctx context.Context, batch []*change, live bool) (again []*change, _ error) {
	if ok, err := q.know(ctx, live || q.resident || len(q.doubtful) > 0); err != nil || !ok {
		return batch, err
	}
	for _, prepare := range []func(context.Context, []*change) (bool, error){q.fence, q.makeRoom, q.apply, q.open} {
		if ok, err := prepare(ctx, batch); err != nil || !ok {
			return batch, err
		}
	}
	return q.conclude(batch, q.write(ctx)), nil
}

// conclude tells those that wait what has come of it, and returns what is to be tried again.
func (q *queue) conclude(batch []*change, failed map[*allocation.Record]error) (again []*change) {
	for _, one := range batch {
		err := one.outcome(failed)
		if apierrors.IsConflict(err) {
			again = append(again, one)
			continue
		}
		if one.err == nil && err == nil {
			q.note(one)
		}
		one.end(cmp.Or(one.err, err))
	}
	if len(failed) == 0 {
		q.entered = append(q.entered, q.pool.Conclude()...)
	}
	if len(failed) > 0 || q.pool.shared {
		q.pool = nil // what of it is stored is not known, or not what others hold of it
	}
	return again
}

// apply makes the changes to what is known, and looks whether what changes nothing is true. It is false when the pool is another by now.
func (q *queue) apply(ctx context.Context, batch []*change) (bool, error) {
	q.pool.Refresh(time.Now())
	for _, one := range batch {
		one.touched, one.changed, one.err = q.pool.Apply(one.apply)
	}
	return q.confirm(ctx, batch)
}

// know reads the pool, if it is not known. It is false when that was another before its blocks had been read.
func (q *queue) know(ctx context.Context, live bool) (bool, error) {
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
		p.shared = p.KeepElsewhere(held)
	}
	if err := q.recall(ctx, stored, p.Pool); err != nil {
		return false, err
	}
	p.UseRests(cmp.Or(q.rests, allocation.NewRests(DefaultRest, false)), time.Now())
	q.pool, q.confirmed = p, live
	return true, nil
}

// doubt notes that a write may have been done, or may be done yet: no answer says so, and neither does one of a server that failed, which may be a
// proxy on the way.
func (q *queue) doubt(r *allocation.Record, err error) {
	var answer apierrors.APIStatus
	if errors.As(err, &answer) && answer.Status().Code < http.StatusInternalServerError { // it is refused
		return
	}
	if q.doubtful == nil {
		q.doubtful = map[netip.Prefix]bool{}
	}
	q.doubtful[r.Of] = true
}

// fence gives what a write may be on its way to another version, so that it fails if it arrives after all. It is false when the pool is
// another by now.
func (q *queue) fence(ctx context.Context, _ []*change) (bool, error) {
	for of := range q.doubtful {
		r := q.pool.Own()
		if of.IsValid() {
			r = q.pool.Block(of)
		}
		if r != nil && r.Version != "" { // a write to a block that is not there fails anyway
			if err := conflict(r, q.touch(ctx, r)); err != nil {
				return false, notConflict(err)
			}
		}
		delete(q.doubtful, of)
	}
	return true, nil
}

// makeRoom has new holders go into blocks from now on if that is needed. It is false when the pool is another by now.
func (q *queue) makeRoom(ctx context.Context, batch []*change) (bool, error) {
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

// confirm looks whether what changes nothing is true of the pool as it is stored. It is false when it is not, and everything is to be
// tried again.
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

// relied are the records that have to be as they are stored; all says that the other blocks have to be, too.
func (q *queue) relied(batch []*change) (records []*allocation.Record, all bool) {
	for _, one := range batch {
		switch {
		case one.sure || one.err != nil || len(one.touched) == 0:
			return []*allocation.Record{q.pool.Own()}, true
		case !one.changed && !slices.Contains(records, one.touched[0]):
			records = append(records, one.touched[0])
		}
	}
	return records, false
}

// write stores what is urgent, and returns what could not be stored.
func (q *queue) write(ctx context.Context) map[*allocation.Record]error {
	failed := each(q.pool.Waiting(), func(r *allocation.Record) error { return q.put(ctx, r) })
	for r, err := range failed {
		q.doubt(r, err)
		failed[r] = conflict(r, err)
	}
	return failed
}

// each does something with some records at a time, and returns those that it could not be done with.
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
	case r.IsBlock() && r.Version == "": // nobody is held in it: see enlist, which alone makes blocks
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

// annotate sets an annotation of the object as it is known, and nothing else.
func (q *queue) annotate(ctx context.Context, r *allocation.Record, key, value string) error {
	return q.patch(ctx, r, map[string]any{"metadata": map[string]any{"resourceVersion": r.Version, "annotations": map[string]string{key: value}}})
}

// patch sends what has changed of a record, and reads nothing but the metadata of the answer: the object may be large.
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

// mergePatch is a patch of the body.
func mergePatch(body map[string]any) (client.Patch, error) {
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	return client.RawPatch(types.MergePatchType, data), nil
}

// outcome is the error of those records that a change needs to be stored.
func (c *change) outcome(failed map[*allocation.Record]error) error { return worst(c.touched, failed) }

// worst is the first error of some records that is no conflict, or else that.
func worst(records []*allocation.Record, failed map[*allocation.Record]error) error {
	var first error
	for _, r := range records {
		if err := failed[r]; err != nil && (first == nil || !apierrors.IsConflict(err)) {
			first = err
		}
	}
	return first
}

// conflict says that a record is another by now: a block may also have come, or gone.
func conflict(r *allocation.Record, err error) error {
	if r.IsBlock() && (apierrors.IsNotFound(err) || apierrors.IsAlreadyExists(err)) {
		return apierrors.NewConflict(lbv1.GroupVersion.WithResource("ippoolblocks").GroupResource(), r.Of.String(), err)
	}
	return err
}
