// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
)

// DefaultRest is how long an address that a load balancer has given back is given to nobody else. Nothing tells that the last kube-vip, of a
// guest cluster or of Harvester, has stopped to announce it, and neighbours remember where it was.
const DefaultRest = 2 * time.Minute

// Allocator gives addresses of the pools of the cluster that it runs in: one for each manager. It remembers what it knows of a pool, and
// reads it again when somebody else has changed it.
type Allocator struct {
	claimer Claimer
	here    Harvester
	admits  admission
}

// admission reports whether a pool is for a load balancer.
type admission func(*lbv1.IPPool, *lbv1.LoadBalancer) bool

func admitsAll(*lbv1.IPPool, *lbv1.LoadBalancer) bool { return true }

// NewAllocator makes an Allocator that writes with the client and reads with live, which has no cache.
func NewAllocator(writer client.Writer, live client.Reader) *Allocator {
	return &Allocator{
		claimer: Claimer{resident: true, check: among(live), shown: balancers(live, admitsAll)}, here: &here{Writer: writer, live: live}, admits: admitsAll,
	}
}

// WithScopes has the scope of a pool be a boundary: a load balancer outside it that names the pool, or shows an address of it, has none but the
// one that the pool says it holds. It is called before any other method.
func (a *Allocator) WithScopes() *Allocator {
	a.admits, a.claimer.shown = ippools.Admits, balancers(a.here.Live(), ippools.Admits)
	return a
}

// Entitles reports whether a load balancer may have an address of a pool: the pool is for it, or says that it has one.
func (a *Allocator) Entitles(ctx context.Context, pool *lbv1.IPPool, lb *lbv1.LoadBalancer) (bool, error) {
	if a.admits(pool, lb) {
		return true, nil
	}
	held, err := Held(ctx, a.here, []string{pool.Name}, lb.Namespace+"/"+lb.Name)
	if err != nil {
		return false, fmt.Errorf("finding out whether IPPool %s says that %s/%s has an address: %w", pool.Name, lb.Namespace, lb.Name, err)
	}
	return held.Pool != "", nil
}

// WithRest has addresses that are given back rest for so long: nobody else is given them meanwhile. It is called before any other method.
func (a *Allocator) WithRest(period time.Duration) *Allocator {
	a.claimer.rest = period
	return a
}

// among looks at all pools as they are stored whenever one is read: of two that have the same address one gives none, and the other one gives
// none that is held there.
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
			theirs, _ := allocation.NewPool(other, blocks.Items...) // whatever is wrong with it
			maps.Insert(held, theirs.Holders())
		}
		return held, stops(ippools.Obstacles(pool, all.Items))
	}
}

// here is the cluster that the manager runs in.
type here struct {
	client.Writer
	live client.Reader
}

// Get reads what is stored: a writer that remembers what it wrote needs no cache.
func (h *here) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	return h.live.Get(ctx, key, obj, opts...)
}

func (h *here) Live() client.Reader { return h.live }

// Claim gives the holder an address of the pool: the same again when it has one. The error wraps allocation.ErrExhausted when none is free, and is
// NotFound when the pool does not exist; of a pool that cannot be read it names the field.
func (a *Allocator) Claim(ctx context.Context, pool, id string) (Claimed, error) {
	claimed := Claimed{Pool: pool}
	err := a.claimer.do(ctx, a.here, pool, &change{id: id, claims: true, apply: func(p *allocation.Pool) (changed bool, err error) {
		claimed.Address, changed, err = p.Get(id)
		return changed, err
	}})
	if err != nil {
		return Claimed{}, fmt.Errorf("claiming an address of IPPool %s for %s: %w", pool, id, err)
	}
	return claimed, nil
}

// Release takes the holder's address back. It is nil when the holder has none, or the pool is gone.
func (a *Allocator) Release(ctx context.Context, pool, id string) error {
	err := a.claimer.do(ctx, a.here, pool, &change{id: id, apply: func(p *allocation.Pool) (bool, error) { return p.Release(id), nil }})
	if apierrors.IsNotFound(err) {
		a.with(pool, func(q *queue) { delete(q.has, id) })
		return nil
	}
	if err != nil {
		return fmt.Errorf("releasing the address in IPPool %s: %w", pool, err)
	}
	return nil
}

// ReleaseAddress takes this address back from the holder, if it has it, and no other.
func (a *Allocator) ReleaseAddress(ctx context.Context, pool, id string, addr netip.Addr) (released bool, _ error) {
	err := a.claimer.do(ctx, a.here, pool, &change{id: id, apply: func(p *allocation.Pool) (bool, error) {
		released = p.ReleaseAddress(addr, id)
		return released, nil
	}})
	return released, client.IgnoreNotFound(err)
}

// Give gives the holder an address that it has already, as others show, and no other of the pool. The error wraps allocation.ErrHeld when
// another has it, and allocation.ErrOutside when the pool does not have it.
func (a *Allocator) Give(ctx context.Context, pool, id string, addr netip.Addr) error {
	err := a.claimer.do(ctx, a.here, pool, &change{id: id, claims: true, apply: func(p *allocation.Pool) (bool, error) { return p.Give(addr, id) }})
	if err != nil {
		return fmt.Errorf("giving %s of IPPool %s to %s: %w", addr, pool, id, err)
	}
	return nil
}

// Settle settles a pool, and stores what that changes. It does nothing, but ask for the version, when the pool says what its holders do. From now
// on it gives no address while there are obstacles.
func (a *Allocator) Settle(ctx context.Context, pool string, obstacles field.ErrorList, why func(allocation.Settled) (reason, message string)) (is allocation.Settled, _ error) {
	if len(obstacles) == 0 {
		a.resume(pool)
	}
	err := a.claimer.do(ctx, a.here, pool, &change{sure: true, apply: func(p *allocation.Pool) (changed bool, _ error) {
		if len(obstacles) > 0 {
			p.Stop(stops(obstacles))
		}
		is, changed = p.Settle(why)
		return changed, nil
	}})
	if err != nil {
		return allocation.Settled{}, fmt.Errorf("settling IPPool %s: %w", pool, err)
	}
	a.with(pool, func(q *queue) { is.Entered, q.entered = q.entered, nil })
	return is, nil
}

// resume has a pool that gave no address be read again, since the pools themselves know whether that is over. Whoever is told next that it
// is ready gets one.
func (a *Allocator) resume(pool string) {
	a.with(pool, func(q *queue) {
		if q.pool != nil && q.pool.Stopped() {
			q.pool = nil
		}
	})
}

// stops is why a pool with obstacles gives no address.
func stops(obstacles field.ErrorList) error {
	if len(obstacles) == 0 {
		return nil
	}
	return fmt.Errorf("gives no address: %w", obstacles.ToAggregate())
}

// InUse tells which addresses a load balancer is known to have by others than its pool: its own status, and the Service that announces it.
// Known is false for an id that is no load balancer.
type InUse func(ctx context.Context, id string) (addresses []netip.Addr, known bool, _ error)

// Repair resolves what others have written: a load balancer that holds several addresses keeps those that it
// uses, or the lowest when it uses none, and the others are free again. Holders that are no load balancers are left alone. What cannot be found
// out of one holder keeps no other from it.
func (a *Allocator) Repair(ctx context.Context, pool string, several []string, inUse InUse) error {
	var errs []error
	for _, id := range several {
		uses, known, err := inUse(ctx, id)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("finding out which addresses %s uses: %w", id, err))
			continue
		case !known:
			continue
		}
		err = a.claimer.do(ctx, a.here, pool, &change{id: id, apply: func(p *allocation.Pool) (bool, error) { return p.Keep(id, uses), nil }})
		if err != nil {
			errs = append(errs, fmt.Errorf("repairing IPPool %s: %w", pool, err))
		}
	}
	return errors.Join(errs...)
}

// Reread has a pool be read again before anybody is given an address of it: another one has come that has addresses of it, or has gone.
func (a *Allocator) Reread(pool string) {
	a.with(pool, func(q *queue) { q.pool = nil })
}

// Forget drops what is known of a pool that is gone.
func (a *Allocator) Forget(pool string) {
	a.with(pool, func(q *queue) { q.pool, q.doubtful = nil, nil })
}

// with changes what is known of a pool while nobody else does.
func (a *Allocator) with(pool string, do func(*queue)) {
	q := a.claimer.enter(a.here, pool)
	defer a.claimer.leave(q)
	q.commit <- struct{}{}
	defer func() { <-q.commit }()
	do(q)
}
