// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipam

import (
	"math/bits"
	"net/netip"
)

// addressSet is a set of addresses, with one bit for each in blocks of 256. Blocks that have none are not there, so the set is as large as
// what is in it, whatever the ranges are.
type addressSet map[netip.Addr]*[4]uint64

// blockOf is the first address of the block that an address is in.
func blockOf(addr netip.Addr) netip.Addr {
	first, _ := split(addr)
	return first
}

// split tells the first address of the block, and which one of the block an address is.
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

// join is the address of a block.
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

func (s addressSet) has(addr netip.Addr) bool {
	first, at := split(addr)
	block := s[first]
	return block != nil && block[at/64]&(1<<(at%64)) != 0
}

func (s addressSet) add(addr netip.Addr) {
	first, at := split(addr)
	block := s[first]
	if block == nil {
		block = &[4]uint64{}
		s[first] = block
	}
	block[at/64] |= 1 << (at % 64)
}

func (s addressSet) remove(addr netip.Addr) {
	first, at := split(addr)
	block := s[first]
	if block == nil {
		return
	}
	if block[at/64] &^= 1 << (at % 64); *block == [4]uint64{} {
		delete(s, first)
	}
}

// absent is the lowest address from one to another, both included, that is not in the set.
func (s addressSet) absent(from, to netip.Addr) (netip.Addr, bool) {
	for from.IsValid() && !to.Less(from) {
		first, at := split(from)
		block := s[first]
		if block == nil {
			return from, true
		}
		for word := at / 64; word < 4; word++ {
			others := ^block[word]
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
