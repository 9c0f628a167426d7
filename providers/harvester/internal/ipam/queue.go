// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
)

const (
	// attempts is the maximum number of times that a pool is read per batch when conflicts persist.
	attempts = 5
	// linger is the maximum time to wait for callers whose changes were stored in the previous batch.
	linger = 2 * time.Millisecond
)

// Claimer changes pools. It stores the concurrent changes of a pool in one request, so that workers do not cause conflicts for each
// other. The zero value is ready to use.
type Claimer struct {
	// resident is set if pools stay cached and if holders of a large pool are stored in blocks.
	resident bool
	// check returns the holders of the pool's addresses in other pools, and why the pool must not allocate addresses. It may be nil.
	check func(context.Context, *lbv1.IPPool) (map[netip.Addr]string, error)
	// shown returns what load balancers show of a pool. It may be nil.
	shown func(ctx context.Context, pool *lbv1.IPPool) ([]allocation.Shown, error)
	// quarantine is the quarantine of released addresses.
	quarantine time.Duration

	named sync.Once
	own   string

	mu     sync.Mutex
	queues map[queueKey]*queue
}

type queueKey struct {
	harvester Harvester
	pool      string
}

// queue holds the pending changes of one pool. It exists while there are callers, or permanently if the Claimer is resident.
type queue struct {
	*Claimer
	h    Harvester
	name string

	users int // guarded by the Claimer's lock

	mu      sync.Mutex
	waiting []*change
	// came signals that a change was queued.
	came chan struct{}

	// commit is a semaphore for the caller that writes the pool. It writes all pending changes, so each caller waits for it at most once.
	commit chan struct{}
	// last is the size of the previous batch.
	last int
	// pool is the pool as it was last written or read, or nil if unknown. Other caches may not have it yet.
	pool *poolState
	// confirmed is set if the pool was read from the API server after the callers began to wait.
	confirmed bool
	// uncertain are the records with a write that got no response and may still take effect.
	uncertain map[netip.Prefix]bool

	// assigned is the address that each load balancer was given or shows. listed is set once the load balancers have been listed.
	assigned map[string]netip.Addr
	listed   bool
	// quarantine are the quarantined addresses. It is nil unless the Claimer is resident.
	quarantine *allocation.Quarantine
	// entered are load balancers that became holders again and have not been reported yet.
	entered []allocation.Entry
}

// change is a pending change of a pool.
type change struct {
	apply func(*allocation.Pool) (changed bool, err error)
	// id is the load balancer that the change is about, or "".
	id string
	// claims is set if the change may add a holder.
	claims bool
	// exact is set if the whole pool must match the stored one, even if the change modifies it.
	exact bool
	// over is closed when the change is done.
	over chan struct{}
	err  error

	// changed and touched are the results of apply.
	changed bool
	touched []*allocation.Record
}

// change applies a change to the pool and stores it. It may be applied several times, each time to the current pool. The result of a
// change that changed nothing, or failed, was true at some moment between the call and its return.
func (c *Claimer) change(ctx context.Context, h Harvester, pool string, apply func(*allocation.Pool) (bool, error)) error {
	return c.do(ctx, h, pool, &change{apply: apply})
}

func (c *Claimer) do(ctx context.Context, h Harvester, pool string, wanted *change) error {
	q := c.enter(h, pool)
	defer c.leave(q)
	wanted.over = make(chan struct{})
	q.wait(wanted)
	select {
	case <-wanted.over:
		return wanted.err
	case q.commit <- struct{}{}:
		defer func() { <-q.commit }()
	}
	select {
	case <-wanted.over:
	default:
		q.store(ctx, wanted)
	}
	return wanted.err
}

func (q *queue) wait(wanted *change) {
	q.mu.Lock()
	q.waiting = append(q.waiting, wanted)
	q.mu.Unlock()
	select {
	case q.came <- struct{}{}:
	default:
	}
}

func (c *Claimer) enter(h Harvester, pool string) *queue {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.queues == nil {
		c.queues = map[queueKey]*queue{}
	}
	key := queueKey{harvester: h, pool: pool}
	q, ok := c.queues[key]
	if !ok {
		q = &queue{Claimer: c, h: h, name: pool, came: make(chan struct{}, 1), commit: make(chan struct{}, 1)}
		if c.resident {
			q.quarantine = allocation.NewQuarantine(c.quarantine, true)
		}
		c.queues[key] = q
	}
	q.users++
	return q
}

func (c *Claimer) leave(q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.users--; q.users == 0 && len(q.uncertain) == 0 && len(q.assigned) == 0 && (!c.resident || q.pool == nil && q.quarantine.IsEmpty()) {
		delete(c.queues, queueKey{harvester: q.h, pool: q.name})
	}
}

// store applies all pending changes and completes each of them. If the context of the caller ends, the others are queued again.
func (q *queue) store(ctx context.Context, own *change) {
	batch := q.gather()
	q.confirmed = false
	err := error(apierrors.NewConflict(lbv1.GroupVersion.WithResource("ippools").GroupResource(), q.name, fmt.Errorf("other clients have changed it %d times", attempts)))
	for i := range attempts {
		again, failed := q.try(ctx, batch, i > 0)
		if failed != nil {
			q.pool, err = nil, failed
			break
		}
		if batch = again; len(batch) == 0 {
			return
		}
		q.pool = nil
	}
	for _, one := range batch {
		if ctx.Err() == nil || one == own {
			one.end(err)
			continue
		}
		q.wait(one)
	}
}

// end completes the change.
func (c *change) end(err error) {
	c.err = err
	close(c.over)
}

// gather returns all pending changes. Callers of the previous batch queue their next change while the current batch is written, which
// would split them into two batches that wait for each other. Therefore gather waits for them briefly.
func (q *queue) gather() []*change {
	moment := time.After(linger)
	for {
		q.mu.Lock()
		if len(q.waiting) >= q.last {
			break
		}
		q.mu.Unlock()
		select {
		case <-q.came:
			continue
		case <-moment:
		}
		q.mu.Lock()
		break
	}
	defer q.mu.Unlock()
	batch := q.waiting
	q.waiting, q.last = nil, len(batch)
	return batch
}
