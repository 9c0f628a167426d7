// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// DefaultQuarantine is the default quarantine of an address that a load balancer has released, during which no other holder gets it.
// Nothing reports that the last kube-vip, of a guest cluster or of Harvester, has stopped announcing the address, and neighbors cache its
// location.
const DefaultQuarantine = 2 * time.Minute

// Allocator allocates addresses of the pools of the cluster that it runs in. A manager has one. It caches the pools and reads a pool
// again when another client has changed it.
type Allocator struct {
	claimer Claimer
	local   Harvester
	admits  admission
}

// admission reports whether a pool is for a load balancer.
type admission func(*lbv1.IPPool, *lbv1.LoadBalancer) bool

func admitsAll(*lbv1.IPPool, *lbv1.LoadBalancer) bool { return true }

// NewAllocator returns an Allocator that writes with writer and reads with live, which must not be cached.
func NewAllocator(writer client.Writer, live client.Reader) *Allocator {
	return &Allocator{
		claimer: Claimer{resident: true, check: among(live), shown: balancers(live, admitsAll)}, local: &localCluster{Writer: writer, live: live}, admits: admitsAll,
	}
}

// WithScopes makes the scope of a pool a boundary: a load balancer outside of it that names the pool or shows one of its addresses gets
// only the address that the pool records for it. WithScopes must be called before any other method.
func (a *Allocator) WithScopes() *Allocator {
	a.admits, a.claimer.shown = ippools.Admits, balancers(a.local.Live(), ippools.Admits)
	return a
}

// Entitles reports whether a load balancer may have an address of a pool: the pool is for it, or the pool records an address for it.
func (a *Allocator) Entitles(ctx context.Context, pool *lbv1.IPPool, lb *lbv1.LoadBalancer) (bool, error) {
	if a.admits(pool, lb) {
		return true, nil
	}
	held, err := Held(ctx, a.local, []string{pool.Name}, lb.Namespace+"/"+lb.Name)
	if err != nil {
		return false, fmt.Errorf("checking whether IPPool %s records an address of %s/%s: %w", pool.Name, lb.Namespace, lb.Name, err)
	}
	return held.Pool != "", nil
}

// WithQuarantine sets the quarantine of released addresses, during which no other holder gets them. It must be called before any other
// method.
func (a *Allocator) WithQuarantine(period time.Duration) *Allocator {
	a.claimer.quarantine = period
	return a
}

// among lists all stored pools whenever one is read. If two pools contain the same address, one of them allocates no address, and the
// other one does not allocate an address that is held in the first.
func among(live client.Reader) func(context.Context, *lbv1.IPPool) (map[netip.Addr]string, error) {
	return func(ctx context.Context, pool *lbv1.IPPool) (map[netip.Addr]string, error) {
		all := &lbv1.IPPoolList{}
		if err := live.List(ctx, all); err != nil {
			return nil, fmt.Errorf("listing IPPools: %w", err)
		}
		held := map[netip.Addr]string{}
		for _, other := range ippools.Overlapping(pool, all.Items) {
			blocks := &lbv1.IPPoolBlockList{}
			if err := live.List(ctx, blocks, allocation.BlocksOf(other.Name)); err != nil {
				return nil, fmt.Errorf("listing IPPoolBlocks of IPPool %s: %w", other.Name, err)
			}
			own := slices.DeleteFunc(blocks.Items, func(block lbv1.IPPoolBlock) bool {
				return !allocation.IsBlockOf(&block, other.Name)
			})
			theirs, _ := allocation.NewPool(other, own...) // errors are irrelevant here
			maps.Insert(held, theirs.Holders())
		}
		return held, obstacleError(ippools.Obstacles(pool, all.Items))
	}
}

// localCluster is the cluster that the manager runs in.
type localCluster struct {
	client.Writer
	live client.Reader
}

// Get reads from the API server: a writer that caches what it wrote needs no other cache.
func (h *localCluster) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return h.live.Get(ctx, key, obj, opts...)
}

func (h *localCluster) Live() client.Reader { return h.live }

// Claim allocates an address of the pool to the holder. It returns the same address if the holder already has one. The error wraps
// allocation.ErrExhausted if no address is free and is NotFound if the pool does not exist. For an invalid pool it names the field.
func (a *Allocator) Claim(ctx context.Context, pool, id string) (Claimed, error) {
	claimed := Claimed{Pool: pool}
	err := a.claimer.do(ctx, a.local, pool, &change{id: id, claims: true, apply: func(p *allocation.Pool) (changed bool, err error) {
		claimed.Address, changed, err = p.Get(id)
		return changed, err
	}})
	if err != nil {
		return Claimed{}, fmt.Errorf("claiming an address of IPPool %s for %s: %w", pool, id, err)
	}
	return claimed, nil
}

// Release releases the address of the holder. It returns nil if the holder has none or the pool does not exist.
func (a *Allocator) Release(ctx context.Context, pool, id string) error {
	err := a.claimer.do(ctx, a.local, pool, &change{id: id, apply: func(p *allocation.Pool) (bool, error) { return p.Release(id), nil }})
	if apierrors.IsNotFound(err) {
		a.with(pool, func(q *queue) { delete(q.assigned, id) })
		return nil
	}
	if err != nil {
		return fmt.Errorf("releasing the address in IPPool %s: %w", pool, err)
	}
	return nil
}

// ReleaseAddress releases addr if the holder has it, and no other address.
func (a *Allocator) ReleaseAddress(ctx context.Context, pool, id string, addr netip.Addr) (released bool, _ error) {
	err := a.claimer.do(ctx, a.local, pool, &change{id: id, apply: func(p *allocation.Pool) (bool, error) {
		released = p.ReleaseAddress(addr, id)
		return released, nil
	}})
	return released, client.IgnoreNotFound(err)
}

// Give records that the holder has addr, which it already uses, and no other address of the pool. The error wraps allocation.ErrHeld if
// addr has another holder, and allocation.ErrOutside if the pool does not contain it.
func (a *Allocator) Give(ctx context.Context, pool, id string, addr netip.Addr) error {
	err := a.claimer.do(ctx, a.local, pool, &change{id: id, claims: true, apply: func(p *allocation.Pool) (bool, error) { return p.Give(addr, id) }})
	if err != nil {
		return fmt.Errorf("assigning %s of IPPool %s to %s: %w", addr, pool, id, err)
	}
	return nil
}

// UpdateStatus updates the status of a pool and stores the changes. If the pool matches its holders, it only compares the
// resourceVersion. While there are obstacles, the pool allocates no address.
func (a *Allocator) UpdateStatus(ctx context.Context, pool string, obstacles field.ErrorList, why func(allocation.Summary) (reason, message string)) (is allocation.Summary, _ error) {
	if len(obstacles) == 0 {
		a.dropCached(pool)
	}
	err := a.claimer.do(ctx, a.local, pool, &change{exact: true, apply: func(p *allocation.Pool) (changed bool, _ error) {
		if len(obstacles) > 0 {
			p.Stop(obstacleError(obstacles))
		}
		is, changed = p.UpdateStatus(why)
		return changed, nil
	}})
	if err != nil {
		return allocation.Summary{}, fmt.Errorf("updating the status of IPPool %s: %w", pool, err)
	}
	a.with(pool, func(q *queue) { is.Entered, q.entered = q.entered, nil })
	return is, nil
}

// dropCached drops a cached pool that allocated no address, so that it is read again: the stored pools decide whether the obstacle still
// exists. The next load balancer that is reconciled because the pool is ready gets an address.
func (a *Allocator) dropCached(pool string) {
	a.with(pool, func(q *queue) {
		if q.pool != nil && q.pool.Stopped() {
			q.pool = nil
		}
	})
}

// obstacleError returns why a pool with obstacles allocates no address.
func obstacleError(obstacles field.ErrorList) error {
	if len(obstacles) == 0 {
		return nil
	}
	return fmt.Errorf("allocates no addresses: %w", obstacles.ToAggregate())
}

// InUse returns the addresses that a load balancer uses according to sources other than its pool: its own status and the Service that
// announces it. known is false if id is not a load balancer.
type InUse func(ctx context.Context, id string) (addresses []netip.Addr, known bool, _ error)

// Repair resolves edits by other clients: a load balancer that holds several addresses keeps those that it uses, or the lowest one if it
// uses none, and the others become free. Holders that are not load balancers are left alone. An error for one holder does not affect the
// others.
func (a *Allocator) Repair(ctx context.Context, pool string, several []string, inUse InUse) error {
	var errs []error
	for _, id := range several {
		uses, known, err := inUse(ctx, id)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("reading the addresses of %s: %w", id, err))
			continue
		case !known:
			continue
		}
		err = a.claimer.do(ctx, a.local, pool, &change{id: id, apply: func(p *allocation.Pool) (bool, error) { return p.Keep(id, uses), nil }})
		if err != nil {
			errs = append(errs, fmt.Errorf("repairing IPPool %s: %w", pool, err))
		}
	}
	return errors.Join(errs...)
}

// Reread drops the cached pool before another address is allocated from it, because an overlapping pool was created or deleted.
func (a *Allocator) Reread(pool string) {
	a.with(pool, func(q *queue) { q.pool = nil })
}

// Forget drops the cache of a deleted pool.
func (a *Allocator) Forget(pool string) {
	a.with(pool, func(q *queue) { q.pool, q.uncertain = nil, nil })
}

// with changes the cache of a pool under its lock.
func (a *Allocator) with(pool string, do func(*queue)) {
	q := a.claimer.enter(a.local, pool)
	defer a.claimer.leave(q)
	q.commit <- struct{}{}
	defer func() { <-q.commit }()
	do(q)
}
