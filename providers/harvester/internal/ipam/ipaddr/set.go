// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipaddr

import (
	"math/bits"
	"net/netip"
)

// Set is a set of addresses, with one bit per address in sections of 256. Empty sections are not stored, so its size depends on the
// number of elements and not on the ranges.
type Set map[netip.Addr]*[4]uint64

// split returns the first address of the section of an address and the index in that section.
func split(addr netip.Addr) (first netip.Addr, at uint8) {
	if addr.Is4() {
		b := addr.As4()
		at, b[3] = b[3], 0
		return netip.AddrFrom4(b), at
	}
	b := addr.As16()
	at, b[15] = b[15], 0
	return netip.AddrFrom16(b), at
}

// join returns the address at an index of a section.
func join(first netip.Addr, at uint8) netip.Addr {
	if first.Is4() {
		b := first.As4()
		b[3] = at
		return netip.AddrFrom4(b)
	}
	b := first.As16()
	b[15] = at
	return netip.AddrFrom16(b)
}

// Has reports whether the set contains an address.
func (s Set) Has(addr netip.Addr) bool {
	first, at := split(addr)
	section := s[first]
	return section != nil && section[at/64]&(1<<(at%64)) != 0
}

// Add adds an address to the set.
func (s Set) Add(addr netip.Addr) {
	first, at := split(addr)
	section := s[first]
	if section == nil {
		section = &[4]uint64{}
		s[first] = section
	}
	section[at/64] |= 1 << (at % 64)
}

// Remove removes an address from the set.
func (s Set) Remove(addr netip.Addr) {
	first, at := split(addr)
	section := s[first]
	if section == nil {
		return
	}
	if section[at/64] &^= 1 << (at % 64); *section == [4]uint64{} {
		delete(s, first)
	}
}

// absent returns the lowest address between from and to, both included, that is not in the set.
func (s Set) absent(from, to netip.Addr) (netip.Addr, bool) {
	for from.IsValid() && !to.Less(from) {
		first, at := split(from)
		section := s[first]
		if section == nil {
			return from, true
		}
		for word := at / 64; word < 4; word++ {
			others := ^section[word]
			if word == at/64 {
				others &= ^uint64(0) << (at % 64)
			}
			if others != 0 {
				found := join(first, word*64+uint8(bits.TrailingZeros64(others))) //nolint:gosec // it is below 64
				return found, !to.Less(found)
			}
		}
		from = join(first, 255).Next()
	}
	return netip.Addr{}, false
}
