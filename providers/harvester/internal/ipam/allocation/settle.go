// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Settled is what a pool is like.
type Settled struct {
	// Held is how many addresses have a holder.
	Held int
	// Doubled are addresses with several holders, and Several holders with several addresses.
	Doubled []netip.Addr
	Several []string
	// Disputed are addresses that load balancers have, and that others hold. Entered are load balancers that had an address of which the
	// pool did not say so any more: now it does.
	Disputed, Entered []Entry
	// Rouse is how long it takes until an address that rests has; 0 when none does.
	Rouse time.Duration
	// Told says that the condition is another.
	Told bool
}

// Settle brings the counts and the history of a pool to what its holders say, and the condition Ready to why it is not. Who was entered is told
// by Conclude.
func (p *Pool) Settle(why func(Settled) (reason, message string)) (is Settled, changed bool) {
	is = Settled{Held: len(p.holders), Disputed: p.disputed(), Rouse: p.nextRouse(time.Now())}
	is.Doubled, is.Several = p.several()
	reason, message := why(is)
	is.Told = lbv1.SetReady(&p.conditions, reason, message, time.Now())
	return is, p.tidy(is.Told)
}

// several tells the addresses that have several holders, and the holders that have several addresses: neither is given, but may be found.
func (p *Pool) several() (addrs []netip.Addr, ids []string) {
	for addr, more := range p.doubled {
		if slices.ContainsFunc(more, func(h holding) bool { return h.id != p.holders[addr].id }) {
			addrs = append(addrs, addr)
		}
	}
	for id, held := range p.byID {
		if len(held) > 1 {
			ids = append(ids, id)
		}
	}
	slices.SortFunc(addrs, netip.Addr.Compare)
	slices.SortFunc(ids, strings.Compare)
	return addrs, ids
}

// Keep takes from a holder of several addresses those that it does not use; the lowest stays when it uses none.
func (p *Pool) Keep(id string, uses []netip.Addr) (changed bool) {
	held := slices.Clone(p.byID[id])
	used := func(addr netip.Addr) bool { return slices.Contains(uses, addr) }
	if lowest, ok := p.lowest(id); ok && !slices.ContainsFunc(held, used) {
		uses = []netip.Addr{lowest}
	}
	for _, addr := range held {
		if !used(addr) {
			p.drop(addr, id)
			changed = true
		}
	}
	return changed
}
