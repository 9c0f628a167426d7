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

// RestingError says that all addresses of a pool that are free rest.
type RestingError struct {
	// Period is how long they do after they were given back, and For how long until the first one has.
	Period, For time.Duration
}

// Error is for the user.
func (e *RestingError) Error() string {
	return fmt.Sprintf("%s: those that were given back are given to others after %s", ErrExhausted, e.Period)
}

// Unwrap says that it is one kind of this.
func (e *RestingError) Unwrap() error { return ErrExhausted }

// Rests are addresses that rest. When they were given back is stored, so that it is known after a restart. Who stays goes by its own clock,
// which does not jump, and lets an address that it finds so rest for all of the time; who comes and goes has to go by what is stored.
type Rests struct {
	period time.Duration
	stays  bool
	until  map[netip.Addr]time.Time
	// order has the addresses from the one that has rested first. Those that were taken meanwhile are still in it.
	order []netip.Addr
}

// NewRests begins without any. Period is how long an address rests that is given back, 0 for not at all, and stays says that who gives addresses
// does.
func NewRests(period time.Duration, stays bool) *Rests {
	return &Rests{period: period, stays: stays, until: map[netip.Addr]time.Time{}}
}

// IsEmpty reports whether none rests.
func (r *Rests) IsEmpty() bool { return len(r.until) == 0 }

func (r *Rests) begin(addr netip.Addr, until time.Time) {
	r.until[addr] = until
	r.order = append(r.order, addr)
}

// end is until when an address rests that was given back at a moment of somebody else's clock; the zero time when it does not.
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

// UseRests has the addresses rest that do, by what is known and what is stored.
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

// rest has an address rest that was just given back.
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

// rouse ends the rest of an address, which may be given to others then.
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

// rouseAll ends the rest of those that have rested.
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

// nextRouse is how long it takes until the next one has rested; 0 when none does.
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

// exhausted is why there is no address.
func (p *Pool) exhausted() error {
	if soon := p.nextRouse(time.Now()); soon > 0 {
		return &RestingError{Period: p.rests.period, For: soon}
	}
	return ErrExhausted
}

// withheld reports whether an address that nobody holds is nobody's to have, or somebody's in particular.
func (p *Pool) withheld(addr netip.Addr) bool {
	_, isKept := p.kept[addr]
	return isKept || p.isResting(addr) || p.ranges.IsGateway(addr)
}
