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

// Summary is the state of a pool after UpdateStatus.
type Summary struct {
	// Held is the number of addresses with a holder.
	Held int
	// Doubled are addresses with several holders, Several holders with several addresses.
	Doubled []netip.Addr
	Several []string
	// Disputed are addresses that load balancers have and for which the pool records another holder. Entered are load balancers whose
	// address the pool did not record any more and records again.
	Disputed, Entered []Entry
	// NextRelease is the time until the next quarantine ends, or 0 without quarantines.
	NextRelease time.Duration
	// ConditionChanged is set if the condition has changed.
	ConditionChanged bool
}

// UpdateStatus updates the counts and the history of a pool to match its holders, and the condition Ready to what why returns. Conclude
// returns the load balancers that were recorded again.
func (p *Pool) UpdateStatus(why func(Summary) (reason, message string)) (is Summary, changed bool) {
	is = Summary{Held: len(p.holders), Disputed: p.disputed(), NextRelease: p.nextRelease(time.Now())}
	is.Doubled, is.Several = p.several()
	reason, message := why(is)
	is.ConditionChanged = lbv1.SetReady(&p.conditions, reason, message, time.Now())
	return is, p.cleanUp(is.ConditionChanged)
}

// several returns the addresses with several holders and the holders with several addresses. The package creates neither, but other
// clients may.
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

// Keep releases the addresses that a holder of several does not use. If it uses none, it keeps the lowest.
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
