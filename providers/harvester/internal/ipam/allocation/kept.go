// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"net/netip"
	"slices"
	"time"
)

// Entry is that a load balancer has an address, and who else holds it in the pool; "" when nobody did.
type Entry struct {
	Address    netip.Addr
	ID, Holder string
}

// Shown is what a load balancer says of a pool.
type Shown struct {
	ID string
	// Address is the one that its status has; the zero Addr for one that may have got one, and does not say so yet.
	Address netip.Addr
	// Goes says that it is being deleted: it may have given the address back a moment ago.
	Goes bool
	// Stranger says that the pool is not for it: anybody could show an address. It has the one that the pool says it holds, or that it was given.
	Stranger bool
}

// kept is for whom an address is that the pool does not say is theirs.
type kept struct {
	id string
	// enters says that the pool is to say so, elsewhere that another pool does.
	enters, elsewhere bool
}

// KeepElsewhere keeps addresses for those who hold them in another pool, and reports whether there are any.
func (p *Pool) KeepElsewhere(held map[netip.Addr]string) (shared bool) {
	for addr, id := range held {
		if _, here := p.holders[addr]; !here && p.ranges.Contains(addr) {
			p.kept[addr] = kept{id: id, elsewhere: true}
			p.taken.Add(addr)
			shared = true
		}
	}
	return shared
}

// Lacks reports whether somebody does not hold the address that was given.
func (p *Pool) Lacks(has map[string]netip.Addr) bool {
	for id, addr := range has {
		if !p.isHeldBy(addr, id) {
			return true
		}
	}
	return false
}

func (p *Pool) isHeldBy(addr netip.Addr, id string) bool { return slices.Contains(p.byID[id], addr) }

// KeepShown keeps the addresses that load balancers have, and returns them by holder: the one that the load balancer shows and holds, else the
// one that it was given, else the one that it shows, unless that is of another one who shows it.
func (p *Pool) KeepShown(all []Shown, given map[string]netip.Addr) map[string]netip.Addr {
	has := map[string]netip.Addr{}
	shows := map[string]netip.Addr{}
	for _, one := range all {
		shows[one.ID] = one.Address
	}
	for _, one := range all {
		addr := p.hasOf(one, given)
		holder, held := p.holders[addr]
		if !p.ranges.Gives(addr) || held && holder.id != one.ID && shows[holder.id] == addr {
			continue
		}
		has[one.ID] = addr
		if _, ok := p.kept[addr]; !ok && !p.isHeldBy(addr, one.ID) {
			p.kept[addr] = kept{id: one.ID, enters: !one.Goes}
			p.taken.Add(addr)
		}
	}
	return has
}

// hasOf is the address that a load balancer has by itself; the zero Addr for none.
func (p *Pool) hasOf(one Shown, given map[string]netip.Addr) netip.Addr {
	addr, known := given[one.ID]
	switch {
	case p.isHeldBy(one.Address, one.ID):
		return one.Address
	case !known && !one.Stranger:
		return one.Address
	}
	return addr
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

// enter has the pool say again who has an address that nobody holds and somebody has.
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
				p.taken.Remove(addr)
				p.rest(addr, time.Now())
			}
		}
	}
}

// disputed are addresses that load balancers have, and that others hold in the pool.
func (p *Pool) disputed() []Entry {
	var all []Entry
	for addr, k := range p.kept {
		if h, held := p.holders[addr]; k.enters && held {
			all = append(all, Entry{Address: addr, ID: k.id, Holder: h.id})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return a.Address.Compare(b.Address) })
	return all
}
