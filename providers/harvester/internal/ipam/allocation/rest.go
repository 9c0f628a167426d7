// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package allocation

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"
)

// RestingError reports that all free addresses of a pool are quarantined.
type RestingError struct {
	// Period is the quarantine of a released address. For is the time until the first quarantine ends.
	Period, For time.Duration
}

// Error returns a message for the user.
func (e *RestingError) Error() string {
	return fmt.Sprintf("%s: a released address is allocated to another holder after %s", ErrExhausted, e.Period)
}

// Unwrap returns ErrExhausted: RestingError is a special case of it.
func (e *RestingError) Unwrap() error { return ErrExhausted }

// Rests are quarantined addresses. The time of the release is stored, so that the quarantine survives a restart. A resident caller uses
// its own monotonic clock and starts the full quarantine again for each stored release that it finds. A caller that is not resident must
// rely on the stored times.
type Rests struct {
	period time.Duration
	stays  bool
	until  map[netip.Addr]time.Time
	// order has the addresses, the one whose quarantine ends first at the front. It also contains addresses that were allocated since.
	order []netip.Addr
}

// NewRests returns an empty Rests. period is the quarantine of a released address, 0 for none. stays is set for a resident caller.
func NewRests(period time.Duration, stays bool) *Rests {
	return &Rests{period: period, stays: stays, until: map[netip.Addr]time.Time{}}
}

// IsEmpty reports whether no address is quarantined.
func (r *Rests) IsEmpty() bool { return len(r.until) == 0 }

func (r *Rests) begin(addr netip.Addr, until time.Time) {
	r.until[addr] = until
	r.order = append(r.order, addr)
}

// end returns the end of the quarantine of an address with the stored release time, written by another clock; zero if it is over.
func (r *Rests) end(released string, now time.Time) time.Time {
	if r.stays {
		return now.Add(r.period)
	}
	given, err := time.Parse(time.RFC3339, released)
	if err != nil || now.Sub(given).Abs() >= r.period {
		return time.Time{}
	}
	return given.Add(r.period)
}

// UseRests quarantines the addresses that are known to be, or are recorded as, released recently.
func (p *Pool) UseRests(r *Rests, now time.Time) {
	p.rests = r
	for _, record := range p.records() {
		for given, released := range record.released {
			f, free := p.former.of[parsed(given)]
			_, known := r.until[parsed(given)]
			switch end := r.end(released, now); {
			case r.period == 0, !free, f.in != record, f.given != given, end.IsZero():
				if r.stays {
					record.unmark(given)
				}
			case !known:
				r.begin(parsed(given), end)
			}
		}
	}
	maps.DeleteFunc(r.until, func(addr netip.Addr, _ time.Time) bool {
		_, held := p.holders[addr]
		if !held {
			p.taken.Add(addr)
		}
		return held
	})
	r.order = slices.SortedFunc(maps.Keys(r.until), func(a, b netip.Addr) int { return r.until[a].Compare(r.until[b]) })
}

// rest quarantines an address that was just released.
func (p *Pool) rest(addr netip.Addr, now time.Time) {
	f, remembered := p.former.of[addr]
	if p.rests == nil || p.rests.period == 0 || !p.rests.stays {
		return
	}
	p.rests.begin(addr, now.Add(p.rests.period))
	p.taken.Add(addr)
	if remembered {
		f.in.mark(f.given, now.UTC().Format(time.RFC3339))
	}
}

func (p *Pool) isResting(addr netip.Addr) bool {
	if p.rests == nil {
		return false
	}
	_, ok := p.rests.until[addr]
	return ok
}

// rouse ends the quarantine of an address.
func (p *Pool) rouse(addr netip.Addr) {
	if !p.isResting(addr) {
		return
	}
	delete(p.rests.until, addr)
	if f, ok := p.former.of[addr]; ok {
		f.in.unmark(f.given)
	}
	if _, held := p.holders[addr]; !held && !p.withheld(addr) {
		p.taken.Remove(addr)
	}
}

// rouseAll ends all quarantines that are over.
func (p *Pool) rouseAll(now time.Time) {
	for p.rests != nil && len(p.rests.order) > 0 {
		first := p.rests.order[0]
		if until, rests := p.rests.until[first]; rests && until.After(now) {
			return
		}
		p.rests.order = p.rests.order[1:]
		p.rouse(first)
	}
}

// nextRouse returns the time until the next quarantine ends, or 0 without quarantines.
func (p *Pool) nextRouse(now time.Time) time.Duration {
	for _, addr := range p.restsInOrder() {
		if until, rests := p.rests.until[addr]; rests {
			return max(until.Sub(now), time.Millisecond)
		}
	}
	return 0
}

func (p *Pool) restsInOrder() []netip.Addr {
	if p.rests == nil {
		return nil
	}
	return p.rests.order
}

// exhausted returns why no address is free.
func (p *Pool) exhausted() error {
	if soon := p.nextRouse(time.Now()); soon > 0 {
		return &RestingError{Period: p.rests.period, For: soon}
	}
	return ErrExhausted
}

// withheld reports whether an address without a holder cannot be allocated, or only to a particular holder.
func (p *Pool) withheld(addr netip.Addr) bool {
	_, isKept := p.kept[addr]
	return isKept || p.isResting(addr) || p.ranges.IsGateway(addr)
}
