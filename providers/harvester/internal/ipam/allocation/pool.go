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
	// ErrExhausted says that all addresses of a pool are held.
	ErrExhausted = errors.New("no address of the pool is free")
	// ErrHeld says that an address has another holder.
	ErrHeld = errors.New("another has the address")
	// ErrOutside says that a pool does not have the address.
	ErrOutside = errors.New("the address is in none of the pool's ranges")
	// ErrDeleting is the rest of a sentence about a pool that gives nothing any more.
	ErrDeleting = errors.New("is being deleted, and gives no address: name another pool")
)

// BrokenError says that the ranges of a pool are wrong.
type BrokenError struct{ err error }

// Error is the rest of a sentence about the pool.
func (e *BrokenError) Error() string {
	return fmt.Sprintf("gives no address: %s: correct it", e.err)
}

// Unwrap returns what is wrong.
func (e *BrokenError) Unwrap() error { return e.err }

// Pool is what an IPPool gives, and who holds what of it. Methods change the value only; what is to be stored then is in its records.
type Pool struct {
	name, network string
	uid           types.UID
	ranges        ipaddr.Ranges
	// broken is why it can give no address, and problem why it is not to. What is held is released all the same.
	broken, problem error
	// inBlocks says that new holders go into blocks.
	inBlocks bool
	own      *Record
	blocks   map[netip.Prefix]*Record

	// taken has what cannot be given: what is held, and the gateways. held is how many of the former the ranges have.
	taken ipaddr.Set
	held  int64
	// holders has every address that is held; others who say so, too, are in doubled.
	holders map[netip.Addr]holding
	doubled map[netip.Addr][]holding
	byID    map[string][]netip.Addr
	former  history
	// kept are addresses that are for somebody alone although the pool does not say so. entered is who was made a holder because of that.
	kept    map[netip.Addr]kept
	entered []Entry
	// rests are addresses that nobody holds, and that are for who had them alone. It may be nil.
	rests *Rests
	// last is the address that was given last.
	last netip.Addr

	// stored is what the stored status says.
	stored     counts
	conditions []lbv1.Condition
	// touched are the records that were read or changed since somebody began to note them, urgent those that somebody waits for to be
	// stored. Other changes go with the next that are.
	touched []*Record
	urgent  map[*Record]bool
}

// holding is somebody who has an address, and the record and the spelling that it is in.
type holding struct {
	id, given string
	in        *Record
}

type counts struct {
	total, available int64
	last             string
}

// Address is what a holder has got.
type Address struct {
	IP netip.Addr
	// Subnet and Gateway are those of the range; they are zero for an address that the ranges do not have any more, and the gateway
	// for a range without one.
	Subnet  netip.Prefix
	Gateway netip.Addr
}

// NewPool reads an IPPool, and its blocks if it has any. One whose ranges are wrong comes with the error, and gives nothing, as one does that is
// being deleted: addresses are released to it all the same.
func NewPool(pool *lbv1.IPPool, blocks ...lbv1.IPPoolBlock) (*Pool, error) {
	ranges, err := ipaddr.MakeRanges(pool.Spec.Ranges)
	p := &Pool{
		name: pool.Name, network: pool.Spec.Selector.Network, uid: pool.UID, ranges: ranges,
		inBlocks: pool.Annotations[lbv1.BlocksAnnotation] == "true",
		own:      newRecord(pool, netip.Prefix{}, pool.Status.Allocated, pool.Status.AllocatedHistory, pool.Status.Released),
		blocks:   map[netip.Prefix]*Record{}, urgent: map[*Record]bool{}, taken: ipaddr.Set{}, holders: map[netip.Addr]holding{}, doubled: map[netip.Addr][]holding{},
		byID: map[string][]netip.Addr{}, former: newHistory(), kept: map[netip.Addr]kept{},
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

// readHistory reads who had the free addresses. It is not stored for how long they have been free: those that are next in turn are taken
// for the oldest.
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

// Stop says why the pool is not to give addresses; nil when it is.
func (p *Pool) Stop(why error) { p.problem = why }

// Stopped reports whether it is not.
func (p *Pool) Stopped() bool { return p.problem != nil }

// Network is the one that the pool is for; "" for any.
func (p *Pool) Network() string { return p.network }

// Status is the status of the pool after what was given and released, with the counts made anew: others may have changed one and not
// the other. Holders in blocks are only counted.
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

// Get gives the holder an address: the one that it has, else the one that it had, else the next free one behind the last that was
// given. Changed says whether anything is another afterwards.
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

// Give gives the holder this address and no other, unless another has it.
func (p *Pool) Give(addr netip.Addr, id string) (changed bool, _ error) {
	if !p.ranges.Contains(addr) {
		return false, ErrOutside
	}
	now, held := p.holders[addr]
	switch {
	case held && now.id != id, p.isAnothers(addr, id):
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

// Release takes the holder's addresses back, and remembers them for it. Those of others stay whatever they are. It is false when the
// holder had none.
func (p *Pool) Release(id string) (changed bool) {
	for _, addr := range slices.Clone(p.byID[id]) {
		p.drop(addr, id)
		changed = true
	}
	p.letGo(id)
	return changed
}

// ReleaseAddress takes this address back from the holder, if it has it, and no other.
func (p *Pool) ReleaseAddress(addr netip.Addr, id string) (changed bool) {
	held := p.isHeldBy(addr, id)
	if held {
		p.drop(addr, id)
	}
	return held
}

// Holds returns the address of the holder, if it has one.
func (p *Pool) Holds(id string) (Address, bool) {
	addr, ok := p.lowest(id)
	return p.address(addr), ok
}

// Holders are who has which address.
func (p *Pool) Holders() iter.Seq2[netip.Addr, string] {
	return func(yield func(netip.Addr, string) bool) {
		for addr, h := range p.holders {
			if !yield(addr, h.id) {
				return
			}
		}
	}
}

// address is what a holder of the address has got.
func (p *Pool) address(addr netip.Addr) Address {
	of := p.ranges.Of(addr)
	return Address{IP: addr, Subnet: of.Subnet, Gateway: of.Gateway}
}

func (p *Pool) lowest(id string) (lowest netip.Addr, ok bool) {
	for _, addr := range p.byID[id] {
		if !p.isAnothers(addr, id) && (!ok || addr.Less(lowest)) {
			lowest, ok = addr, true
		}
	}
	return lowest, ok
}

// had is an address that the holder had before, and nobody has now.
func (p *Pool) had(id string) (found netip.Addr, ok bool) {
	for _, addr := range p.former.by[id] {
		if (p.free(addr) || p.isResting(addr) && !p.isAnothers(addr, id)) && (!ok || addr.Less(found)) {
			found, ok = addr, true
		}
	}
	return found, ok
}

func (p *Pool) free(addr netip.Addr) bool {
	return p.ranges.Contains(addr) && !p.taken.Has(addr)
}

// take gives an address that is free.
func (p *Pool) take(addr netip.Addr, id string) {
	p.hold(addr, id)
	p.last = addr
}

// hold makes somebody the holder of an address that nobody holds.
func (p *Pool) hold(addr netip.Addr, id string) {
	p.rouse(addr)
	p.forget(addr)
	delete(p.kept, addr)
	h := holding{id, addr.String(), p.recordOf(addr)}
	h.in.hold(h.given, id)
	p.changed(h.in)
	p.put(addr, h)
}

// changed notes a record that is to be stored.
func (p *Pool) changed(r *Record) {
	p.touched = append(p.touched, r)
	p.urgent[r] = true
}

// recordOf is where the holder of an address that is free now is to be stored. A block for all of a section is used as long as it is there.
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

// put notes who has an address.
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

// drop takes an address from a holder who has it.
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

// emptied notes that nobody has an address any more.
func (p *Pool) emptied(addr netip.Addr) {
	if !p.withheld(addr) {
		p.taken.Remove(addr)
	}
	if p.ranges.Gives(addr) {
		p.held--
		p.rest(addr, time.Now())
	}
	p.enter(addr)
}

// forget drops an address from the history.
func (p *Pool) forget(addr netip.Addr) {
	if f, ok := p.former.remove(addr); ok {
		f.in.forget(f.given)
		f.in.unmark(f.given)
	}
}
