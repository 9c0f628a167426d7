// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// attempts is how often a pool is read again that others keep changing.
const attempts = 5

// Claimer changes pools. What several workers want of one pool at a time is stored by one request, so that they are not in each other's
// way. The zero value is ready to use.
type Claimer struct {
	mu     sync.Mutex
	queues map[queueKey]*queue
}

type queueKey struct {
	harvester Harvester
	pool      string
}

// queue has what is wanted of one pool. It exists as long as somebody wants something.
type queue struct {
	users int // guarded by the Claimer's lock

	mu      sync.Mutex
	waiting []*change

	// commit is held while the pool is written. Who gets it writes what all that wait want, so it is waited for once.
	commit sync.Mutex
	// last is the pool as it was written last: a cache need not show that yet. It is nil when that is not known.
	last *lbv1.IPPool
}

type change struct {
	apply func(*Pool, *lbv1.IPPool) (changed bool, err error)
	done  bool
	err   error
}

// change applies a change to the pool and stores it. It may be applied several times, to the pool as it is then.
func (c *Claimer) change(ctx context.Context, h Harvester, pool string, apply func(*Pool, *lbv1.IPPool) (bool, error)) error {
	key := queueKey{harvester: h, pool: pool}
	q := c.enter(key)
	defer c.leave(key)
	wanted := &change{apply: apply}
	q.mu.Lock()
	q.waiting = append(q.waiting, wanted)
	q.mu.Unlock()

	q.commit.Lock()
	defer q.commit.Unlock()
	if !wanted.done {
		q.store(ctx, h, pool)
	}
	return wanted.err
}

func (c *Claimer) enter(key queueKey) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues == nil {
		c.queues = map[queueKey]*queue{}
	}
	q, ok := c.queues[key]
	if !ok {
		q = &queue{}
		c.queues[key] = q
	}
	q.users++
	return q
}

func (c *Claimer) leave(key queueKey) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q := c.queues[key]; q.users > 1 {
		q.users--
	} else {
		delete(c.queues, key)
	}
}

// store does what all that wait want. Each is told what became of it.
func (q *queue) store(ctx context.Context, h Harvester, name string) {
	q.mu.Lock()
	batch := q.waiting
	q.waiting = nil
	q.mu.Unlock()
	err := q.try(ctx, h, name, batch)
	for _, one := range batch {
		one.done = true
		if one.err == nil {
			one.err = err
		}
	}
}

// try begins with what is known, and reads the pool itself after somebody else has changed it.
func (q *queue) try(ctx context.Context, h Harvester, name string, batch []*change) (err error) {
	stored := q.last
	if stored == nil {
		stored = &lbv1.IPPool{}
		if err := h.Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
			return err
		}
	}
	for range attempts {
		if err = q.write(ctx, h, stored, batch); !apierrors.IsConflict(err) {
			return err
		}
		q.last, stored = nil, &lbv1.IPPool{}
		if err := h.Live().Get(ctx, client.ObjectKey{Name: name}, stored); err != nil {
			return err
		}
	}
	return err
}

// write applies the changes to the pool and stores what has come of them, if that is anything.
func (q *queue) write(ctx context.Context, h Harvester, stored *lbv1.IPPool, batch []*change) error {
	p, err := NewPool(stored)
	if err != nil {
		return &brokenPoolError{err}
	}
	for _, one := range batch {
		_, one.err = one.apply(p, stored)
	}
	after := stored.DeepCopy()
	after.Status = p.Status()
	if equality.Semantic.DeepEqual(stored.Status.Allocated, after.Status.Allocated) {
		return nil
	}
	patch, err := statusPatch(stored, after)
	if err != nil {
		return err
	}
	if err := h.Patch(ctx, after, patch); err != nil {
		q.last = nil
		return fmt.Errorf("patching IPPool %s: %w", stored.Name, err)
	}
	q.last = after
	return nil
}

// statusPatch is what of the status has changed, for the object as it was read. It goes to the object itself, which has no subresource
// for its status. What a status must have is always in it: a pool that nobody has used yet has none.
func statusPatch(stored, after *lbv1.IPPool) (client.Patch, error) {
	data, err := client.MergeFromWithOptions(stored, client.MergeFromWithOptimisticLock{}).Data(after)
	if err != nil {
		return nil, fmt.Errorf("comparing IPPool %s: %w", stored.Name, err)
	}
	body := map[string]any{}
	if err := json.Unmarshal(data, &body); err != nil {
		return nil, fmt.Errorf("comparing IPPool %s: %w", stored.Name, err)
	}
	status, ok := body["status"].(map[string]any)
	if !ok {
		return nil, fmt.Errorf("comparing IPPool %s: its status has not changed", stored.Name)
	}
	status["total"], status["available"], status["lastAllocated"] = after.Status.Total, after.Status.Available, after.Status.LastAllocated
	if data, err = json.Marshal(body); err != nil {
		return nil, fmt.Errorf("comparing IPPool %s: %w", stored.Name, err)
	}
	return client.RawPatch(types.MergePatchType, data), nil
}
