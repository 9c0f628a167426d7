// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"net/netip"
	"slices"
)

// MaxHistory is the maximum number of free addresses of a pool for which the last holder is remembered. A holder that returns after that
// many other releases gets another address.
const MaxHistory = 1024

// history maps free addresses to their last holders.
type history struct {
	of map[netip.Addr]former
	by map[string][]netip.Addr
	// order has the addresses, the one that has been free for longest first. It also contains addresses that were allocated since, with
	// an outdated number.
	order []turn
	count uint64
}

type former struct {
	id, given string
	in        *Record
	number    uint64
}

type turn struct {
	addr   netip.Addr
	number uint64
}

func newHistory() history {
	return history{of: map[netip.Addr]former{}, by: map[string][]netip.Addr{}}
}

func (h *history) add(addr netip.Addr, f former) {
	h.remove(addr)
	h.count++
	f.number = h.count
	h.of[addr] = f
	h.by[f.id] = append(h.by[f.id], addr)
	h.order = append(h.order, turn{addr, f.number})
}

func (h *history) remove(addr netip.Addr) (former, bool) {
	f, ok := h.of[addr]
	if !ok {
		return f, false
	}
	delete(h.of, addr)
	without(h.by, f.id, addr)
	if len(h.order) > 2*len(h.of)+MaxHistory {
		h.order = slices.DeleteFunc(h.order, func(t turn) bool { return h.of[t.addr].number != t.number })
	}
	return f, true
}

// oldest returns the remembered address that has been free for longest.
func (h *history) oldest() netip.Addr {
	for h.of[h.order[0].addr].number != h.order[0].number {
		h.order = h.order[1:]
	}
	return h.order[0].addr
}

// without removes an address from those of an id.
func without(by map[string][]netip.Addr, id string, addr netip.Addr) {
	left := slices.DeleteFunc(by[id], func(a netip.Addr) bool { return a == addr })
	if len(left) == 0 {
		delete(by, id)
	} else {
		by[id] = left
	}
}
