// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"net/netip"
	"slices"
	"time"
)

// Entry is an address that a load balancer has. Holder is the holder that the pool records for it, or "".
type Entry struct {
	Address    netip.Addr
	ID, Holder string
}

// Shown is what a load balancer shows of a pool.
type Shown struct {
	ID string
	// Address is the address in its status. It is zero if the load balancer may have been given one that is not in its status yet.
	Address netip.Addr
	// Goes is set if the load balancer is being deleted: it may just have released its address.
	Goes bool
	// Stranger is set if the pool is not for the load balancer. Any user can write an address to a status, so the load balancer only has
	// the address that the pool records for it or that it was given.
	Stranger bool
}

// reservation is the load balancer or pool that an address is reserved for although the pool does not record it.
type reservation struct {
	id string
	// enters is set if the pool must record it again, elsewhere if another pool records it.
	enters, elsewhere bool
}

// ReserveElsewhere reserves addresses for their holders in other pools and reports whether there are any.
func (p *Pool) ReserveElsewhere(held map[netip.Addr]string) (shared bool) {
	for addr, id := range held {
		if _, here := p.holders[addr]; !here && p.ranges.Contains(addr) {
			p.reservations[addr] = reservation{id: id, elsewhere: true}
			p.taken.Add(addr)
			shared = true
		}
	}
	return shared
}

// Lacks reports whether the pool does not record an address that was given to a load balancer.
func (p *Pool) Lacks(has map[string]netip.Addr) bool {
	for id, addr := range has {
		if !p.isHeldBy(addr, id) {
			return true
		}
	}
	return false
}

func (p *Pool) isHeldBy(addr netip.Addr, id string) bool { return slices.Contains(p.byID[id], addr) }

// ReserveShown reserves the addresses that load balancers have and returns them by holder. A load balancer has the address that it shows
// and holds, else the one that it was given, else the one that it shows, unless the recorded holder of that address shows it, too.
func (p *Pool) ReserveShown(all []Shown, given map[string]netip.Addr) map[string]netip.Addr {
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
		if _, ok := p.reservations[addr]; !ok && !p.isHeldBy(addr, one.ID) {
			p.reservations[addr] = reservation{id: one.ID, enters: !one.Goes}
			p.taken.Add(addr)
		}
	}
	return has
}

// hasOf returns the address that a load balancer has according to itself, or the zero Addr.
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

// isReservedForOther reports whether an address is reserved for another id.
func (p *Pool) isReservedForOther(addr netip.Addr, id string) bool {
	k, ok := p.reservations[addr]
	return ok && k.id != id
}

// entering returns the number of load balancers to record again.
func (p *Pool) entering() (count int) {
	for addr, k := range p.reservations {
		if _, held := p.holders[addr]; k.enters && !held {
			count++
		}
	}
	return count
}

// enter records the load balancer that an unheld address is reserved for.
func (p *Pool) enter(addr netip.Addr) {
	k, ok := p.reservations[addr]
	if _, held := p.holders[addr]; ok && k.enters && !held {
		p.hold(addr, k.id)
		p.entered = append(p.entered, Entry{Address: addr, ID: k.id})
	}
}

// unreserve drops the reservations of an id.
func (p *Pool) unreserve(id string) {
	for addr, k := range p.reservations {
		if k.id == id && !k.elsewhere {
			delete(p.reservations, addr)
			if _, held := p.holders[addr]; !held {
				p.taken.Remove(addr)
				p.startQuarantine(addr, time.Now())
			}
		}
	}
}

// disputed returns addresses that load balancers have and for which the pool records another holder.
func (p *Pool) disputed() []Entry {
	var all []Entry
	for addr, k := range p.reservations {
		if h, held := p.holders[addr]; k.enters && held {
			all = append(all, Entry{Address: addr, ID: k.id, Holder: h.id})
		}
	}
	slices.SortFunc(all, func(a, b Entry) int { return a.Address.Compare(b.Address) })
	return all
}
