// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package ipam gives addresses of Harvester's IPPools, which machines, load balancers and other programs share: what each holds is
// in the pool's status, by the id of the holder. Pool computes; Claim and Release change the stored object.
package ipam

import (
	"errors"
	"maps"
	"math"
	"net/netip"
	"slices"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// ErrExhausted says that all addresses of a pool are held.
var ErrExhausted = errors.New("no address of the pool is free")

// Pool is what an IPPool gives. Methods change the value only; Status is what is to be stored then.
type Pool struct {
	ranges []Range
	status lbv1.IPPoolStatus
	// held has the addresses of status.allocated as addresses, so that two spellings of one are the same.
	held     map[netip.Addr]string
	gateways map[netip.Addr]bool
}

// Address is what a holder has got.
type Address struct {
	IP netip.Addr
	// Subnet and Gateway are those of the range; they are zero for an address that the ranges do not have any more, and the gateway
	// for a range without one.
	Subnet  netip.Prefix
	Gateway netip.Addr
}

// NewPool reads an IPPool.
func NewPool(pool *lbv1.IPPool) (*Pool, error) {
	ranges, err := makeRanges(pool.Spec.Ranges)
	if err != nil {
		return nil, err
	}
	p := &Pool{ranges: ranges, status: *pool.Status.DeepCopy(), held: map[netip.Addr]string{}, gateways: map[netip.Addr]bool{}}
	for _, r := range ranges {
		p.gateways[r.Gateway] = true
	}
	for given, id := range p.status.Allocated {
		if addr, err := netip.ParseAddr(given); err == nil {
			p.held[addr.Unmap()] = id
		}
	}
	return p, nil
}

// Status is the status of the pool after what was given and released, with the counts made anew: others may have changed one and not
// the other.
func (p *Pool) Status() lbv1.IPPoolStatus {
	status := *p.status.DeepCopy()
	status.Total = p.size()
	status.Available = max(0, status.Total-int64(len(status.Allocated)))
	return status
}

func (p *Pool) size() int64 {
	var total int64
	for _, r := range p.ranges {
		size := r.Size()
		if size > math.MaxInt64-total {
			return math.MaxInt64
		}
		total += size
	}
	return total
}

// Get gives the holder an address: the one that it has, else the one that it had, else the next free one behind the last that was
// given. Changed says whether the status is another afterwards.
func (p *Pool) Get(id string) (_ Address, changed bool, _ error) {
	if addr, ok := lowest(p.held, id, nil); ok {
		return p.address(addr), false, nil
	}
	addr, ok := p.former(id)
	if !ok {
		addr, ok = p.next()
	}
	if !ok {
		return Address{}, false, ErrExhausted
	}
	p.take(addr, id)
	return p.address(addr), true, nil
}

// Release takes the holder's addresses back, and remembers them for it. Those of others stay whatever they are. It is false when the
// holder had none.
func (p *Pool) Release(id string) (changed bool) {
	for given, holder := range p.status.Allocated {
		if holder != id {
			continue
		}
		delete(p.status.Allocated, given)
		if p.status.AllocatedHistory == nil {
			p.status.AllocatedHistory = map[string]string{}
		}
		p.status.AllocatedHistory[given] = id
		changed = true
	}
	maps.DeleteFunc(p.held, func(_ netip.Addr, holder string) bool { return holder == id })
	return changed
}

// Holds returns the address of the holder, if it has one.
func (p *Pool) Holds(id string) (Address, bool) {
	addr, ok := lowest(p.held, id, nil)
	return p.address(addr), ok
}

func (p *Pool) take(addr netip.Addr, id string) {
	given := addr.String()
	if p.status.Allocated == nil {
		p.status.Allocated = map[string]string{}
	}
	p.status.Allocated[given] = id
	p.status.LastAllocated = given
	delete(p.status.AllocatedHistory, given)
	p.held[addr] = id
}

// former is a free address that the holder had before. Others may have written into the history what is in no range.
func (p *Pool) former(id string) (netip.Addr, bool) {
	had := map[netip.Addr]string{}
	for given, holder := range p.status.AllocatedHistory {
		if addr, err := netip.ParseAddr(given); err == nil {
			had[addr.Unmap()] = holder
		}
	}
	return lowest(had, id, p.free)
}

func (p *Pool) free(addr netip.Addr) bool {
	_, held := p.held[addr]
	return !held && !p.gateways[addr] && slices.ContainsFunc(p.ranges, func(r Range) bool { return r.Contains(addr) })
}

// lowest is the lowest address of the holder that passes, whatever order a map is read in.
func lowest(of map[netip.Addr]string, id string, passes func(netip.Addr) bool) (found netip.Addr, ok bool) {
	for addr, holder := range of {
		if holder == id && (passes == nil || passes(addr)) && (!ok || addr.Less(found)) {
			found, ok = addr, true
		}
	}
	return found, ok
}

// next goes round the ranges once, from behind the last address that was given.
func (p *Pool) next() (netip.Addr, bool) {
	at, after := p.last()
	for range len(p.ranges) + 1 { // the range that it begins in is looked at twice, for what is before the beginning
		r := p.ranges[at]
		from := r.First
		if after.IsValid() {
			from = after.Next()
		}
		for addr := from; addr.IsValid() && r.Contains(addr); addr = addr.Next() {
			if p.free(addr) {
				return addr, true
			}
		}
		at, after = (at+1)%len(p.ranges), netip.Addr{}
	}
	return netip.Addr{}, false
}

// last is the range of the last address that was given, and the address; the first range and no address when that is not known.
func (p *Pool) last() (int, netip.Addr) {
	last, err := netip.ParseAddr(p.status.LastAllocated)
	if err != nil {
		return 0, netip.Addr{}
	}
	last = last.Unmap()
	at := slices.IndexFunc(p.ranges, func(r Range) bool { return r.Contains(last) })
	if at < 0 {
		return 0, netip.Addr{}
	}
	return at, last
}

func (p *Pool) address(addr netip.Addr) Address {
	at := slices.IndexFunc(p.ranges, func(r Range) bool { return addr.IsValid() && r.Contains(addr) })
	if at < 0 {
		return Address{IP: addr}
	}
	return Address{IP: addr, Subnet: p.ranges[at].Subnet, Gateway: p.ranges[at].Gateway}
}
