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

// QuarantineError reports that all free addresses of a pool are quarantined.
type QuarantineError struct {
	// Period is the quarantine of a released address. For is the time until the first quarantine ends.
	Period, For time.Duration
}

// Error returns a message for the user.
func (e *QuarantineError) Error() string {
	return fmt.Sprintf("%s: a released address is allocated to another holder after %s", ErrExhausted, e.Period)
}

// Unwrap returns ErrExhausted: QuarantineError is a special case of it.
func (e *QuarantineError) Unwrap() error { return ErrExhausted }

// Quarantine holds released addresses that are not allocated to other holders yet. The time of the release is stored, so that the
// quarantine survives a restart. A resident caller uses its own monotonic clock and starts the full quarantine again for each stored
// release that it finds. A caller that is not resident must rely on the stored times.
type Quarantine struct {
	period time.Duration
	stays  bool
	until  map[netip.Addr]time.Time
	// order has the addresses, the one whose quarantine ends first at the front. It also contains addresses that were allocated since.
	order []netip.Addr
}

// NewQuarantine returns an empty Quarantine. period is the quarantine of a released address, 0 for none. stays is set for a resident
// caller.
func NewQuarantine(period time.Duration, stays bool) *Quarantine {
	return &Quarantine{period: period, stays: stays, until: map[netip.Addr]time.Time{}}
}

// IsEmpty reports whether no address is quarantined.
func (r *Quarantine) IsEmpty() bool { return len(r.until) == 0 }

func (r *Quarantine) begin(addr netip.Addr, until time.Time) {
	r.until[addr] = until
	r.order = append(r.order, addr)
}

// end returns the end of the quarantine of an address with the stored release time, written by another clock; zero if it is over.
func (r *Quarantine) end(released string, now time.Time) time.Time {
	if r.stays {
		return now.Add(r.period)
	}
	given, err := time.Parse(time.RFC3339, released)
	if err != nil || now.Sub(given).Abs() >= r.period {
		return time.Time{}
	}
	return given.Add(r.period)
}

// UseQuarantine quarantines the addresses that are known to be, or are recorded as, released recently.
func (p *Pool) UseQuarantine(r *Quarantine, now time.Time) {
	p.quarantine = r
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

// startQuarantine quarantines an address that was just released.
func (p *Pool) startQuarantine(addr netip.Addr, now time.Time) {
	f, remembered := p.former.of[addr]
	if p.quarantine == nil || p.quarantine.period == 0 || !p.quarantine.stays {
		return
	}
	p.quarantine.begin(addr, now.Add(p.quarantine.period))
	p.taken.Add(addr)
	if remembered {
		f.in.mark(f.given, now.UTC().Format(time.RFC3339))
	}
}

func (p *Pool) isQuarantined(addr netip.Addr) bool {
	if p.quarantine == nil {
		return false
	}
	_, ok := p.quarantine.until[addr]
	return ok
}

// endQuarantine ends the quarantine of an address.
func (p *Pool) endQuarantine(addr netip.Addr) {
	if !p.isQuarantined(addr) {
		return
	}
	delete(p.quarantine.until, addr)
	if f, ok := p.former.of[addr]; ok {
		f.in.unmark(f.given)
	}
	if _, held := p.holders[addr]; !held && !p.withheld(addr) {
		p.taken.Remove(addr)
	}
}

// endQuarantines ends all quarantines that are over.
func (p *Pool) endQuarantines(now time.Time) {
	for p.quarantine != nil && len(p.quarantine.order) > 0 {
		first := p.quarantine.order[0]
		if until, rests := p.quarantine.until[first]; rests && until.After(now) {
			return
		}
		p.quarantine.order = p.quarantine.order[1:]
		p.endQuarantine(first)
	}
}

// nextRelease returns the time until the next quarantine ends, or 0 without quarantines.
func (p *Pool) nextRelease(now time.Time) time.Duration {
	for _, addr := range p.quarantinedInOrder() {
		if until, rests := p.quarantine.until[addr]; rests {
			return max(until.Sub(now), time.Millisecond)
		}
	}
	return 0
}

func (p *Pool) quarantinedInOrder() []netip.Addr {
	if p.quarantine == nil {
		return nil
	}
	return p.quarantine.order
}

// exhausted returns why no address is free.
func (p *Pool) exhausted() error {
	if soon := p.nextRelease(time.Now()); soon > 0 {
		return &QuarantineError{Period: p.quarantine.period, For: soon}
	}
	return ErrExhausted
}

// withheld reports whether an address without a holder cannot be allocated, or only to a particular holder.
func (p *Pool) withheld(addr netip.Addr) bool {
	_, isKept := p.reservations[addr]
	return isKept || p.isQuarantined(addr) || p.ranges.IsGateway(addr)
}
