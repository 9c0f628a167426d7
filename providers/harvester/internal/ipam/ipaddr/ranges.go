// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipaddr

import (
	"cmp"
	"iter"
	"maps"
	"math"
	"net/netip"
	"slices"
)

// Ranges are the addresses of a pool, in the order of its ranges.
type Ranges struct {
	ranges   []Range
	gateways map[netip.Addr]bool
	// total is the number of allocatable addresses, at most math.MaxInt64.
	total int64
}

func newRanges(ranges []Range) Ranges {
	s := Ranges{ranges: ranges, gateways: map[netip.Addr]bool{}}
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
		if s.Contains(gateway) {
			s.total--
		}
	}
	return s
}

// Total returns the number of allocatable addresses, at most math.MaxInt64.
func (s Ranges) Total() int64 { return s.total }

// Gateways returns the gateways of all ranges. None is allocated, even if another range contains it.
func (s Ranges) Gateways() iter.Seq[netip.Addr] { return maps.Keys(s.gateways) }

// IsGateway reports whether an address is a gateway.
func (s Ranges) IsGateway(addr netip.Addr) bool { return s.gateways[addr] }

// Of returns the range that contains an address, or the zero Range.
func (s Ranges) Of(addr netip.Addr) Range {
	at := s.rangeOf(addr)
	if at < 0 {
		return Range{}
	}
	return s.ranges[at]
}

// rangeOf returns the index of the range that contains an address, or a negative number.
func (s Ranges) rangeOf(addr netip.Addr) int {
	return slices.IndexFunc(s.ranges, func(r Range) bool { return addr.IsValid() && r.Contains(addr) })
}

// Contains reports whether a range contains the address.
func (s Ranges) Contains(addr netip.Addr) bool { return s.rangeOf(addr) >= 0 }

// Gives reports whether the address is allocatable.
func (s Ranges) Gives(addr netip.Addr) bool { return s.Contains(addr) && !s.gateways[addr] }

// Next searches all ranges once, starting after the last allocated address, and returns the first address that is not taken.
func (s Ranges) Next(last netip.Addr, taken Set) (netip.Addr, bool) {
	at, from := s.rangeOf(last), last.Next()
	if at < 0 {
		at, from = 0, netip.Addr{}
	}
	for range len(s.ranges) + 1 { // the first range is searched twice, for the addresses before the start
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

// Order compares addresses by their position after the last allocated address.
func (s Ranges) Order(last, a, b netip.Addr) int {
	return cmp.Or(cmp.Compare(s.turn(last, a), s.turn(last, b)), a.Compare(b))
}

// turn returns the number of ranges before that of an address.
func (s Ranges) turn(last, addr netip.Addr) int {
	from, at := max(0, s.rangeOf(last)), s.rangeOf(addr)
	if at == from && s.Contains(last) && !last.Less(addr) {
		return len(s.ranges)
	}
	return (at - from + len(s.ranges)) % max(1, len(s.ranges))
}
