// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

// Claims returns the pools in which a load balancer may hold an address in addition to the one in its status. The annotation is written
// before an address is allocated and removed once the address is in the status, so that no address leaks if the manager ends in between.
func Claims(lb *lbv1.LoadBalancer) []string {
	given := lb.Annotations[lbv1.ClaimsAnnotation]
	if given == "" {
		return nil
	}
	return strings.Split(given, ",")
}

// balancers lists what the stored load balancers show of a pool. A load balancer that does not name the pool of its address may have it
// from any.
func balancers(live client.Reader, admits admission) func(context.Context, *lbv1.IPPool) ([]allocation.Shown, error) {
	return func(ctx context.Context, of *lbv1.IPPool) ([]allocation.Shown, error) {
		pool := of.Name
		all := &lbv1.LoadBalancerList{}
		if err := live.List(ctx, all); err != nil {
			return nil, fmt.Errorf("listing LoadBalancers: %w", err)
		}
		var say []allocation.Shown
		for i := range all.Items {
			lb := &all.Items[i]
			one := allocation.Shown{ID: lb.Namespace + "/" + lb.Name, Goes: !lb.DeletionTimestamp.IsZero(), Stranger: !admits(of, lb)}
			has := lb.Status.AllocatedAddress
			if addr, ok := ipaddr.Parse(strings.TrimSpace(has.IP)); ok && !addr.IsUnspecified() && (has.IPPool == pool || has.IPPool == "") {
				one.Address = addr
			}
			if one.Address.IsValid() || slices.Contains(Claims(lb), pool) {
				say = append(say, one)
			}
		}
		return say, nil
	}
}

// reserveShown keeps the addresses of load balancers for them if the pool that was read does not record them, because another
// client edited it. Load balancers are listed when the pool is read for the first time and when the pool lacks an address that was
// allocated.
func (q *queue) reserveShown(ctx context.Context, stored *lbv1.IPPool, p *allocation.Pool) error {
	if q.shown == nil || q.listed && !p.Lacks(q.assigned) {
		return nil
	}
	all, err := q.shown(ctx, stored)
	if err != nil {
		return err
	}
	q.assigned, q.listed = p.ReserveShown(all, q.assigned), true
	return nil
}

// cacheResult caches the result of a stored change: the address of its holder.
func (q *queue) cacheResult(c *change) {
	if c.id == "" {
		return
	}
	if address, ok := q.pool.Holds(c.id); ok {
		q.assign(c.id, address.IP)
	} else {
		delete(q.assigned, c.id)
	}
}

func (q *queue) assign(id string, addr netip.Addr) {
	if q.assigned == nil {
		q.assigned = map[string]netip.Addr{}
	}
	q.assigned[id] = addr
}
