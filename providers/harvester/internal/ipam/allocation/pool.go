// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

var (
	// ErrExhausted reports that all addresses of a pool are held.
	ErrExhausted = errors.New("the pool has no free address")
	// ErrHeld reports that an address has another holder.
	ErrHeld = errors.New("the address has another holder")
	// ErrOutside reports that a pool does not contain the address.
	ErrOutside = errors.New("the address is not in a range of the pool")
	// ErrDeleting completes a sentence about a pool that is being deleted and allocates no address.
	ErrDeleting = errors.New("is being deleted and allocates no addresses: name another pool")
)

// BrokenError reports that the ranges of a pool are invalid.
type BrokenError struct{ err error }

// Error completes a sentence about the pool.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("allocates no addresses: %s: correct it", e.err)
}

// Unwrap returns the cause.
func (e *BrokenError) Unwrap() error { return e.err }

// Pool holds the addresses of an IPPool and their holders. Methods change only the Pool; its records hold the changes to store.
type Pool struct {
	name, network string
	uid           types.UID
	ranges        ipaddr.Ranges
	// broken is why the pool cannot allocate addresses, problem why it must not. Addresses can be released in either case.
	broken, problem error
	// inBlocks is set if new holders are stored in blocks.
	inBlocks bool
	own      *Record
	blocks   map[netip.Prefix]*Record

	// taken has the addresses that cannot be allocated: those that are held, and the gateways. held is the number of held addresses in
	// the ranges.
	taken ipaddr.Set
	held  int64
	// holders has every held address; further holders of the same address are in doubled.
	holders map[netip.Addr]holding
	doubled map[netip.Addr][]holding
	byID    map[string][]netip.Addr
	former  history
	// reservations are addresses that are reserved for a load balancer although the pool does not record it. entered are those that were
	// recorded again.
	reservations map[netip.Addr]reservation
	entered      []Entry
	// quarantine are quarantined addresses: they have no holder, and only their last holder can get them. It may be nil.
	quarantine *Quarantine
	// last is the address that was allocated last.
	last netip.Addr

	// stored are the counts in the stored status.
	stored     counts
	conditions []lbv1.Condition
	// touched are the records that were read or changed during Apply. urgent are those that must be stored now; other changes are stored
	// with the next urgent ones.
	touched []*Record
	urgent  map[*Record]bool
}

// holding is the holder of an address, with the record that holds it and the spelling of the address there.
type holding struct {
	id, given string
	in        *Record
}

type counts struct {
	total, available int64
	last             string
}

// Address is an allocated address.
type Address struct {
	IP netip.Addr
	// Subnet and Gateway are those of the range. Both are zero for an address that is no longer in the ranges; Gateway is zero for a
	// range without one.
	Subnet  netip.Prefix
	Gateway netip.Addr
}

// NewPool builds a Pool from an IPPool and its blocks, if it has any. For invalid ranges it returns the error together with a Pool that
// allocates no address. Neither does a pool that is being deleted. Addresses can be released in both cases.
func NewPool(pool *lbv1.IPPool, blocks ...lbv1.IPPoolBlock) (*Pool, error) {
	ranges, err := ipaddr.MakeRanges(pool.Spec.Ranges)
	p := &Pool{
		name: pool.Name, network: pool.Spec.Selector.Network, uid: pool.UID, ranges: ranges,
		inBlocks: pool.Annotations[lbv1.BlocksAnnotation] == "true",
		own:      newRecord(pool, netip.Prefix{}, pool.Status.Allocated, pool.Status.AllocatedHistory, pool.Status.Released),
		blocks:   map[netip.Prefix]*Record{}, urgent: map[*Record]bool{}, taken: ipaddr.Set{}, holders: map[netip.Addr]holding{}, doubled: map[netip.Addr][]holding{},
		byID: map[string][]netip.Addr{}, former: newHistory(), reservations: map[netip.Addr]reservation{},
		stored:     counts{pool.Status.Total, pool.Status.Available, pool.Status.LastAllocated},
		conditions: slices.Clone(pool.Status.Conditions),
	}
	if err != nil {
		p.broken = &BrokenError{err}
	}
	if !pool.DeletionTimestamp.IsZero() {
		p.broken = ErrDeleting
	}
	for gateway := range p.ranges.Gateways() {
		p.taken.Add(gateway)
	}
	p.last, _ = ipaddr.Parse(pool.Status.LastAllocated)
	records := []*Record{p.own}
	for i := range blocks {
		if of, ok := addressesOf(&blocks[i]); ok {
			p.blocks[of] = newRecord(&blocks[i], of, blocks[i].Allocated, blocks[i].AllocatedHistory, blocks[i].Released)
			records = append(records, p.blocks[of])
		}
	}
	p.readHolders(records)
	p.readHistory(records)
	return p, err
}

func (p *Pool) readHolders(records []*Record) {
	for _, r := range records {
		for _, given := range slices.Sorted(maps.Keys(r.allocated)) {
			if addr, ok := ipaddr.Parse(given); ok {
				p.put(addr, holding{r.allocated[given], given, r})
			}
		}
	}
}

// readHistory reads the last holders of free addresses. The time since the release is not stored: the addresses that are next in turn
// count as the oldest.
func (p *Pool) readHistory(records []*Record) {
	all := map[netip.Addr]former{}
	for _, r := range records {
		for given, id := range r.history {
			if addr, ok := ipaddr.Parse(given); ok && p.free(addr) {
				all[addr] = former{id: id, given: given, in: r}
			}
		}
	}
	for _, addr := range slices.SortedFunc(maps.Keys(all), func(a, b netip.Addr) int { return p.ranges.Order(p.last, a, b) }) {
		p.former.add(addr, all[addr])
	}
	p.limitHistory()
}

func (p *Pool) limitHistory() {
	for len(p.former.of) > MaxHistory {
		p.forget(p.former.oldest())
	}
}

// Stop sets why the pool must not allocate addresses; nil allows it.
func (p *Pool) Stop(why error) { p.problem = why }

// Stopped reports whether the pool must not allocate addresses.
func (p *Pool) Stopped() bool { return p.problem != nil }

// Network returns the network that the pool is for, or "" for any.
func (p *Pool) Network() string { return p.network }

// Status returns the status of the pool after all changes, with recalculated counts, since other clients may have changed holders without
// the counts. Holders in blocks are only counted.
func (p *Pool) Status() lbv1.IPPoolStatus {
	now := p.counts()
	return lbv1.IPPoolStatus{
		Total: now.total, Available: now.available, LastAllocated: now.last,
		Allocated: maps.Clone(p.own.allocated), AllocatedHistory: maps.Clone(p.own.history),
	}
}

func (p *Pool) counts() counts {
	now := counts{total: p.ranges.Total(), last: p.stored.last}
	now.available = now.total - p.held
	if p.last.IsValid() {
		now.last = p.last.String()
	}
	return now
}

// Get allocates an address to the holder: its current one, else its former one, else the next free one after the last that was allocated.
// changed reports whether the pool has changed.
func (p *Pool) Get(id string) (_ Address, changed bool, _ error) {
	if addr, ok := p.lowest(id); ok {
		p.touched = append(p.touched, p.holders[addr].in)
		return p.address(addr), false, nil
	}
	if err := cmp.Or(p.broken, p.problem); err != nil {
		return Address{}, false, err
	}
	addr, ok := p.had(id)
	if !ok {
		addr, ok = p.ranges.Next(p.last, p.taken)
	}
	if !ok {
		return Address{}, false, p.exhausted()
	}
	p.take(addr, id)
	return p.address(addr), true, nil
}

// Give allocates addr to the holder, and no other address, unless addr has another holder.
func (p *Pool) Give(addr netip.Addr, id string) (changed bool, _ error) {
	if !p.ranges.Contains(addr) {
		return false, ErrOutside
	}
	now, held := p.holders[addr]
	switch {
	case held && now.id != id, p.isReservedForOther(addr, id):
		return false, ErrHeld
	case held:
		p.touched = append(p.touched, now.in)
	default:
		p.take(addr, id)
		changed = true
	}
	for _, other := range slices.Clone(p.byID[id]) {
		if other != addr {
			p.drop(other, id)
			changed = true
		}
	}
	return changed, nil
}

// Release releases the holder's addresses and remembers them for it. Addresses of other holders are unchanged. It returns false if the
// holder had none.
func (p *Pool) Release(id string) (changed bool) {
	for _, addr := range slices.Clone(p.byID[id]) {
		p.drop(addr, id)
		changed = true
	}
	p.unreserve(id)
	return changed
}

// ReleaseAddress releases addr if the holder has it, and no other address.
func (p *Pool) ReleaseAddress(addr netip.Addr, id string) (changed bool) {
	held := p.isHeldBy(addr, id)
	if held {
		p.drop(addr, id)
	}
	return held
}

// Holds returns the address of the holder, if any.
func (p *Pool) Holds(id string) (Address, bool) {
	addr, ok := p.lowest(id)
	return p.address(addr), ok
}

// Holders iterates over the addresses and their holders.
func (p *Pool) Holders() iter.Seq2[netip.Addr, string] {
	return func(yield func(netip.Addr, string) bool) {
		for addr, h := range p.holders {
			if !yield(addr, h.id) {
				return
			}
		}
	}
}

// address returns addr with the subnet and gateway of its range.
func (p *Pool) address(addr netip.Addr) Address {
	of := p.ranges.Of(addr)
	return Address{IP: addr, Subnet: of.Subnet, Gateway: of.Gateway}
}

func (p *Pool) lowest(id string) (lowest netip.Addr, ok bool) {
	for _, addr := range p.byID[id] {
		if !p.isReservedForOther(addr, id) && (!ok || addr.Less(lowest)) {
			lowest, ok = addr, true
		}
	}
	return lowest, ok
}

// had returns the lowest former address of the holder that is still free.
func (p *Pool) had(id string) (found netip.Addr, ok bool) {
	for _, addr := range p.former.by[id] {
		if (p.free(addr) || p.isQuarantined(addr) && !p.isReservedForOther(addr, id)) && (!ok || addr.Less(found)) {
			found, ok = addr, true
		}
	}
	return found, ok
}

func (p *Pool) free(addr netip.Addr) bool {
	return p.ranges.Contains(addr) && !p.taken.Has(addr)
}

// take allocates a free address.
func (p *Pool) take(addr netip.Addr, id string) {
	p.hold(addr, id)
	p.last = addr
}

// hold makes id the holder of an address that has none.
func (p *Pool) hold(addr netip.Addr, id string) {
	p.endQuarantine(addr)
	p.forget(addr)
	delete(p.reservations, addr)
	h := holding{id, addr.String(), p.recordOf(addr)}
	h.in.hold(h.given, id)
	p.changed(h.in)
	p.put(addr, h)
}

// changed marks a record as urgent.
func (p *Pool) changed(r *Record) {
	p.touched = append(p.touched, r)
	p.urgent[r] = true
}

// recordOf returns the record for the holder of a free address. A block for a whole section is used as long as it exists.
func (p *Pool) recordOf(addr netip.Addr) *Record {
	if !p.inBlocks {
		return p.own
	}
	if r := p.blocks[sectionOf(addr)]; r != nil {
		return r
	}
	return p.blockAt(blockOf(addr))
}

func (p *Pool) blockAt(of netip.Prefix) *Record {
	r := p.blocks[of]
	if r == nil {
		r = newRecord(nil, of, nil, nil, nil)
		p.blocks[of] = r
	}
	return r
}

// put records the holder of an address.
func (p *Pool) put(addr netip.Addr, h holding) {
	if _, held := p.holders[addr]; held {
		p.doubled[addr] = append(p.doubled[addr], h)
	} else {
		p.holders[addr] = h
		p.taken.Add(addr)
		if p.ranges.Gives(addr) {
			p.held++
		}
	}
	if !slices.Contains(p.byID[h.id], addr) {
		p.byID[h.id] = append(p.byID[h.id], addr)
	}
}

// drop removes a holder from an address that it holds.
func (p *Pool) drop(addr netip.Addr, id string) {
	var stay []holding
	for _, h := range append([]holding{p.holders[addr]}, p.doubled[addr]...) {
		if h.id != id {
			stay = append(stay, h)
			continue
		}
		h.in.release(h.given)
		p.changed(h.in)
		if len(p.doubled[addr]) == 0 && p.ranges.Gives(addr) {
			h.in.remember(h.given, id)
			p.former.add(addr, former{id: id, given: h.given, in: h.in})
		}
	}
	without(p.byID, id, addr)
	delete(p.holders, addr)
	delete(p.doubled, addr)
	if len(stay) > 0 {
		p.holders[addr] = stay[0]
	}
	if len(stay) > 1 {
		p.doubled[addr] = stay[1:]
	}
	if len(stay) == 0 {
		p.emptied(addr)
	}
	p.limitHistory()
}

// emptied records that an address has no holder.
func (p *Pool) emptied(addr netip.Addr) {
	if !p.withheld(addr) {
		p.taken.Remove(addr)
	}
	if p.ranges.Gives(addr) {
		p.held--
		p.startQuarantine(addr, time.Now())
	}
	p.enter(addr)
}

// forget removes an address from the history.
func (p *Pool) forget(addr netip.Addr) {
	if f, ok := p.former.remove(addr); ok {
		f.in.forget(f.given)
		f.in.unmark(f.given)
	}
}
