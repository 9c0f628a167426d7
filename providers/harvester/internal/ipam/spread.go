// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"cmp"
	"math"
	"net/netip"
	"slices"
)

// spread is the addresses that a pool has, as its ranges give them in turn.
type spread struct {
	ranges   []Range
	gateways map[netip.Addr]bool
	// total is how many there are to be given, math.MaxInt64 for more than that.
	total int64
}

func newSpread(ranges []Range) spread {
	s := spread{ranges: ranges, gateways: map[netip.Addr]bool{}}
	for _, r := range ranges {
		if r.Gateway.IsValid() {
			s.gateways[r.Gateway] = true
		}
	}
	for _, r := range ranges {
		size, ok := distance(r.First, r.Last)
		if !ok || size >= math.MaxInt64-s.total {
			s.total = math.MaxInt64
			return s
		}
		s.total += size + 1
	}
	for gateway := range s.gateways {
		if s.contains(gateway) {
			s.total--
		}
	}
	return s
}

// rangeOf is the number of the range that has an address; below 0 for none.
func (s spread) rangeOf(addr netip.Addr) int {
	return slices.IndexFunc(s.ranges, func(r Range) bool { return addr.IsValid() && r.Contains(addr) })
}

func (s spread) contains(addr netip.Addr) bool { return s.rangeOf(addr) >= 0 }

// gives reports whether the address is one of those that are counted.
func (s spread) gives(addr netip.Addr) bool { return s.contains(addr) && !s.gateways[addr] }

// next goes round the ranges once, from behind the last address that was given, to the first that is not taken.
func (s spread) next(last netip.Addr, taken addressSet) (netip.Addr, bool) {
	at, from := s.rangeOf(last), last.Next()
	if at < 0 {
		at, from = 0, netip.Addr{}
	}
	for range len(s.ranges) + 1 { // the range that it begins in is looked at twice, for what is before the beginning
		r := s.ranges[at]
		if !from.IsValid() {
			from = r.First
		}
		if addr, ok := taken.absent(from, r.Last); ok {
			return addr, true
		}
		at, from = (at+1)%len(s.ranges), netip.Addr{}
	}
	return netip.Addr{}, false
}

// order compares addresses by when it is their turn, behind the last that was given.
func (s spread) order(last, a, b netip.Addr) int {
	return cmp.Or(cmp.Compare(s.turn(last, a), s.turn(last, b)), a.Compare(b))
}

// turn is how many ranges come before that of an address.
func (s spread) turn(last, addr netip.Addr) int {
	from, at := max(0, s.rangeOf(last)), s.rangeOf(addr)
	if at == from && s.contains(last) && !last.Less(addr) {
		return len(s.ranges)
	}
	return (at - from + len(s.ranges)) % max(1, len(s.ranges))
}

// address is what a holder of the address has got.
func (s spread) address(addr netip.Addr) Address {
	at := s.rangeOf(addr)
	if at < 0 {
		return Address{IP: addr}
	}
	return Address{IP: addr, Subnet: s.ranges[at].Subnet, Gateway: s.ranges[at].Gateway}
}
