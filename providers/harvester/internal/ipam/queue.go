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
	// attempts is how often a pool is read again that others keep changing.
	attempts = 5
	// linger is how long those are waited for at most who had something written a moment ago.
	linger = 2 * time.Millisecond
)

// Claimer changes pools. What several workers want of one pool at a time is stored by one request, so that they are not in each other's
// way. The zero value is ready to use.
type Claimer struct {
	// resident says that what is known of a pool stays known, and that holders of a large one go into blocks.
	resident bool
	// check says who holds addresses of a pool in another one, and why it is not to give addresses although it could. It may be nil.
	check func(context.Context, *lbv1.IPPool) (map[netip.Addr]string, error)
	// shown is what load balancers say of a pool. It may be nil.
	shown func(ctx context.Context, pool *lbv1.IPPool) ([]allocation.Shown, error)
	// rest is how long addresses rest that are given back.
	rest time.Duration

	named sync.Once
	own   string

	mu     sync.Mutex
	queues map[queueKey]*queue
}

type queueKey struct {
	harvester Harvester
	pool      string
}

// queue has what is wanted of one pool. It exists as long as somebody wants something, or for good.
type queue struct {
	*Claimer
	h    Harvester
	name string

	users int // guarded by the Claimer's lock

	mu      sync.Mutex
	waiting []*change
	// came tells that somebody waits more.
	came chan struct{}

	// commit has room for one, who writes the pool: what all that wait want, so that it is waited for once.
	commit chan struct{}
	// last is how many had something written last.
	last int
	// pool is as it was written or read last; nil when that is not known. A cache need not show that yet.
	pool *known
	// confirmed says that the pool is as it was stored after those who wait began to.
	confirmed bool
	// doubtful are the records of which a write was not answered: it may take effect yet.
	doubtful map[netip.Prefix]bool

	// has is which address each load balancer was given, or shows. recalled says that they have been asked.
	has      map[string]netip.Addr
	recalled bool
	// rests are addresses that rest, nil for one that does not stay.
	rests *allocation.Rests
	// entered are load balancers that were made holders again, and of whom nobody has been told yet.
	entered []allocation.Entry
}

// change is what somebody wants of a pool.
type change struct {
	apply func(*allocation.Pool) (changed bool, err error)
	// id is the load balancer that it is about; "" for none.
	id string
	// claims says that it may make a holder more.
	claims bool
	// sure says that all of the pool is to be as it is stored, also for what changes it.
	sure bool
	// over is closed when it is done.
	over chan struct{}
	err  error

	// changed and touched are what came of it.
	changed bool
	touched []*allocation.Record
}

// change applies a change to the pool and stores it. It may be applied several times, to the pool as it is then. What has changed nothing,
// or failed, was so at some moment between the call and its return.
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
			q.rests = allocation.NewRests(c.rest, true)
		}
		c.queues[key] = q
	}
	q.users++
	return q
}

func (c *Claimer) leave(q *queue) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if q.users--; q.users == 0 && len(q.doubtful) == 0 && len(q.has) == 0 && (!c.resident || q.pool == nil && q.rests.IsEmpty()) {
		delete(c.queues, queueKey{harvester: q.h, pool: q.name})
	}
}

// store does what all that wait want. Each is told what became of it. When the one who does it has to go, the others do it themselves.
func (q *queue) store(ctx context.Context, own *change) {
	batch := q.gather()
	q.confirmed = false
	err := error(apierrors.NewConflict(lbv1.GroupVersion.WithResource("ippools").GroupResource(), q.name, fmt.Errorf("others have changed it %d times", attempts)))
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

// end tells who waits what has come of it.
func (c *change) end(err error) {
	c.err = err
	close(c.over)
}

// gather takes all that wait. Those who had something written a moment ago come again while it is written for others, and two halves would
// have to wait for each other in turn: they are given the moment that it takes them.
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
