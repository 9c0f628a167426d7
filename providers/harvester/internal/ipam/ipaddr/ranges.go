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

// Ranges is the addresses that a pool has, as its ranges give them in turn.
type Ranges struct {
	ranges   []Range
	gateways map[netip.Addr]bool
	// total is how many there are to be given, math.MaxInt64 for more than that.
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

// Total is how many addresses there are to be given, math.MaxInt64 for more than that.
func (s Ranges) Total() int64 { return s.total }

// Gateways are those of all ranges. None is given, of whichever range it is.
func (s Ranges) Gateways() iter.Seq[netip.Addr] { return maps.Keys(s.gateways) }

// IsGateway reports whether an address is one of them.
func (s Ranges) IsGateway(addr netip.Addr) bool { return s.gateways[addr] }

// Of is the range that has an address; the zero Range for none.
func (s Ranges) Of(addr netip.Addr) Range {
	at := s.rangeOf(addr)
	if at < 0 {
		return Range{}
	}
	return s.ranges[at]
}

// rangeOf is the number of the range that has an address; below 0 for none.
func (s Ranges) rangeOf(addr netip.Addr) int {
	return slices.IndexFunc(s.ranges, func(r Range) bool { return addr.IsValid() && r.Contains(addr) })
}

// Contains reports whether a range has the address.
func (s Ranges) Contains(addr netip.Addr) bool { return s.rangeOf(addr) >= 0 }

// Gives reports whether the address is one of those that are counted.
func (s Ranges) Gives(addr netip.Addr) bool { return s.Contains(addr) && !s.gateways[addr] }

// Next goes round the ranges once, from behind the last address that was given, to the first that is not taken.
func (s Ranges) Next(last netip.Addr, taken Set) (netip.Addr, bool) {
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

// Order compares addresses by when it is their turn, behind the last that was given.
func (s Ranges) Order(last, a, b netip.Addr) int {
	return cmp.Or(cmp.Compare(s.turn(last, a), s.turn(last, b)), a.Compare(b))
}

// turn is how many ranges come before that of an address.
func (s Ranges) turn(last, addr netip.Addr) int {
	from, at := max(0, s.rangeOf(last)), s.rangeOf(addr)
	if at == from && s.Contains(last) && !last.Less(addr) {
		return len(s.ranges)
	}
	return (at - from + len(s.ranges)) % max(1, len(s.ranges))
}
