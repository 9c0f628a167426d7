// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Entry is that a load balancer has an address, and who else holds it in the pool; "" when nobody did.
type Entry struct {
	Address    netip.Addr
	ID, Holder string
}

// shown is what a load balancer says of a pool.
type shown struct {
	id string
	// address is the one that its status has; the zero Addr for one that may have got one, and does not say so yet.
	address netip.Addr
	// goes says that it is being deleted: it may have given the address back a moment ago.
	goes bool
}

// Claims are the pools in which a load balancer may hold an address beside the one in its status. It is written before an address is
// taken, and taken back when the address is in the status: whenever the manager ends, no address is lost.
func Claims(lb *lbv1.LoadBalancer) []string {
	given := lb.Annotations[lbv1.ClaimsAnnotation]
	if given == "" {
		return nil
	}
	return strings.Split(given, ",")
}

// balancers tells what load balancers say of a pool as they are stored. One that does not say which pool its address is of may have it of any.
func balancers(live client.Reader) func(context.Context, string) ([]shown, error) {
	return func(ctx context.Context, pool string) ([]shown, error) {
		all := &lbv1.LoadBalancerList{}
		if err := live.List(ctx, all); err != nil {
			return nil, fmt.Errorf("listing LoadBalancers: %w", err)
		}
		var say []shown
		for i := range all.Items {
			lb := &all.Items[i]
			one := shown{id: lb.Namespace + "/" + lb.Name, goes: !lb.DeletionTimestamp.IsZero()}
			has := lb.Status.AllocatedAddress
			if addr, ok := parse(strings.TrimSpace(has.IP)); ok && !addr.IsUnspecified() && (has.IPPool == pool || has.IPPool == "") {
				one.address = addr
			}
			if one.address.IsValid() || slices.Contains(Claims(lb), pool) {
				say = append(say, one)
			}
		}
		return say, nil
	}
}

// kept is for whom an address is that the pool does not say is theirs.
type kept struct {
	id string
	// enters says that the pool is to say so, elsewhere that another pool does.
	enters, elsewhere bool
}

// keepElsewhere keeps addresses for those who hold them in another pool.
func (p *Pool) keepElsewhere(held map[netip.Addr]string) {
	for addr, id := range held {
		if _, here := p.holders[addr]; !here && p.spread.contains(addr) {
			p.kept[addr] = kept{id: id, elsewhere: true}
			p.taken.add(addr)
			p.shared = true
		}
	}
}

// recall has a pool that was read keep what load balancers have for them, where it says otherwise: somebody has edited it. They are looked at
// when the pool is read first, and when what was given is not in it.
func (q *queue) recall(ctx context.Context, p *Pool) error {
	if q.shown == nil || q.recalled && !p.lacks(q.has) {
		return nil
	}
	all, err := q.shown(ctx, q.name)
	if err != nil {
		return err
	}
	q.has, q.recalled = p.keepShown(all, q.has), true
	return nil
}

// lacks reports whether somebody does not hold the address that was given.
func (p *Pool) lacks(has map[string]netip.Addr) bool {
	for id, addr := range has {
		if !p.isHeldBy(addr, id) {
			return true
		}
	}
	return false
}

func (p *Pool) isHeldBy(addr netip.Addr, id string) bool { return slices.Contains(p.byID[id], addr) }

// keepShown keeps the addresses that load balancers have, and returns them by holder: the one that the load balancer shows and holds, else the
// one that it was given, else the one that it shows, unless that is of another one who shows it.
func (p *Pool) keepShown(all []shown, given map[string]netip.Addr) map[string]netip.Addr {
	has := map[string]netip.Addr{}
	shows := map[string]netip.Addr{}
	for _, one := range all {
		shows[one.id] = one.address
	}
	for _, one := range all {
		addr, known := given[one.id]
		if !known || p.isHeldBy(one.address, one.id) {
			addr = one.address
		}
		holder, held := p.holders[addr]
		if !p.spread.gives(addr) || held && holder.id != one.id && shows[holder.id] == addr {
			continue
		}
		has[one.id] = addr
		if _, ok := p.kept[addr]; !ok && !p.isHeldBy(addr, one.id) {
			p.kept[addr] = kept{id: one.id, enters: !one.goes}
			p.taken.add(addr)
		}
	}
	return has
}

// isAnothers reports whether an address is kept for somebody else.
func (p *Pool) isAnothers(addr netip.Addr, id string) bool {
	k, ok := p.kept[addr]
	return ok && k.id != id
}

// entering is how many load balancers are to be entered.
func (p *Pool) entering() (count int) {
	for addr, k := range p.kept {
		if _, held := p.holders[addr]; k.enters && !held {
			count++
		}
	}
	return count
}

// enter has the pool say again who has the addresses that nobody holds and somebody has.
func (q *queue) enter(context.Context, []*change) (bool, error) {
	for addr := range q.pool.kept {
		q.pool.enter(addr)
	}
	return true, nil
}

func (p *Pool) enter(addr netip.Addr) {
	k, ok := p.kept[addr]
	if _, held := p.holders[addr]; ok && k.enters && !held {
		p.hold(addr, k.id)
		p.entered = append(p.entered, Entry{Address: addr, ID: k.id})
	}
}

// letGo keeps nothing for somebody any more.
func (p *Pool) letGo(id string) {
	for addr, k := range p.kept {
		if k.id == id && !k.elsewhere {
			delete(p.kept, addr)
			if _, held := p.holders[addr]; !held {
				p.taken.remove(addr)
				p.rest(addr, time.Now())
			}
		}
	}
}

// Disputed are addresses that load balancers have, and that others hold in the pool.
func (p *Pool) Disputed() []Entry {
	var all []Entry
	for addr, k := range p.kept {
		if h, held := p.holders[addr]; k.enters && held {
			all = append(all, Entry{Address: addr, ID: k.id, Holder: h.id})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return a.Address.Compare(b.Address) })
	return all
}

// note remembers what came of a change that was stored: who has which address, and which entries are to be told.
func (q *queue) note(c *change) {
	if c.id == "" {
		return
	}
	if addr, ok := q.pool.lowest(c.id); ok {
		q.remember(c.id, addr)
	} else {
		delete(q.has, c.id)
	}
}

func (q *queue) remember(id string, addr netip.Addr) {
	if q.has == nil {
		q.has = map[string]netip.Addr{}
	}
	q.has[id] = addr
}
