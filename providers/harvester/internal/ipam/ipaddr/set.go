// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipaddr

import (
	"math/bits"
	"net/netip"
)

// Set is a set of addresses, with one bit for each in sections of 256. Sections that have none are not there, so the set is as large
// as what is in it, whatever the ranges are.
type Set map[netip.Addr]*[4]uint64

// split tells the first address of the section, and which one of the section an address is.
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

// join is the address of a section.
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

// Has reports whether an address is in the set.
func (s Set) Has(addr netip.Addr) bool {
	first, at := split(addr)
	section := s[first]
	return section != nil && section[at/64]&(1<<(at%64)) != 0
}

// Add puts an address into the set.
func (s Set) Add(addr netip.Addr) {
	first, at := split(addr)
	section := s[first]
	if section == nil {
		section = &[4]uint64{}
		s[first] = section
	}
	section[at/64] |= 1 << (at % 64)
}

// Remove takes an address out of the set.
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

// absent is the lowest address from one to another, both included, that is not in the set.
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
