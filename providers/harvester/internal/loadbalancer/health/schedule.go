// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"container/heap"
	"context"
	"errors"
	"math/rand/v2"
	"net"
	"net/netip"
	"time"
)

const (
	// firstWithin is how soon a new machine is looked at, unless its period is shorter: machines that come together are not all connected
	// to in one moment.
	firstWithin = time.Second
	// jitter is by which part of it a period is longer or shorter, so that machines that came together part.
	jitter = 0.1
)

// soon is until a machine is looked at for the first time.
func soon(period time.Duration) time.Duration {
	return rand.N(max(min(period, firstWithin), 1)) //nolint:gosec // spreads checks, protects nothing
}

// later is until it is looked at again.
func later(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (1 + jitter*(2*rand.Float64()-1))) //nolint:gosec // as above
}

// Start checks machines until ctx ends, and until no connection is open any more.
func (c *Checker) Start(ctx context.Context) error {
	defer c.probes.Wait()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		wait, any := c.begin(ctx, time.Now())
		timer.Reset(wait)
		var due <-chan time.Time
		if any {
			due = timer.C
		}
		select {
		case <-ctx.Done():
			return nil
		case <-c.wake:
		case <-due:
		}
	}
}

// again has Start look at the schedule.
func (c *Checker) again() {
	select {
	case c.wake <- struct{}{}:
	default: // it will already
	}
}

// begin connects to what is due. It returns when to come again, if something is due later that would have a connection.
func (c *Checker) begin(ctx context.Context, now time.Time) (time.Duration, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.inFlight < c.connections {
		m := c.next(now)
		if m == nil {
			break
		}
		c.inFlight++
		if m.hangs {
			c.slowInFlight++
		}
		c.metrics.inFlight(c.inFlight)
		address, timeout, slow := netip.AddrPortFrom(m.address, m.check.Port), m.check.Timeout, m.hangs
		c.probes.Go(func() {
			answers, hangs := c.connect(ctx, address, timeout)
			if ctx.Err() == nil {
				c.done(m, slow, address.Port(), answers, hangs)
			}
		})
	}
	if len(c.due) == 0 || c.inFlight >= c.connections {
		return 0, false // the next one that ends, or comes, begins it
	}
	return c.due[0].at.Sub(now), true
}

// next takes a machine that is due. Those that hang are put aside when enough of them have a connection.
func (c *Checker) next(now time.Time) *machine {
	room := c.slowInFlight < max(c.connections/2, 1)
	for room && len(c.slow) > 0 {
		m := c.slow[0]
		c.slow = c.slow[1:]
		if !m.gone {
			return m
		}
	}
	for len(c.due) > 0 && !c.due[0].at.After(now) {
		m := heap.Pop(&c.due).(*machine)
		if room || !m.hangs {
			return m
		}
		c.slow = append(c.slow, m)
	}
	return nil
}

// done learns of a connection.
func (c *Checker) done(m *machine, slow bool, port uint16, answers, hangs bool) {
	changed, tell := c.note(m, slow, port, answers, hangs)
	c.metrics.checked(answers, hangs)
	c.again()
	if changed && tell != nil {
		tell()
	}
}

func (c *Checker) note(m *machine, slow bool, port uint16, answers, hangs bool) (changed bool, tell func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	if slow {
		c.slowInFlight--
	}
	c.metrics.inFlight(c.inFlight)
	if m.gone {
		return false, nil
	}
	m.hangs = hangs
	c.schedule(m, later(m.check.Period))
	if c.changed != nil {
		notify, of := c.changed, m.of
		tell = func() { notify(of) }
	}
	return port == m.check.Port && m.learn(answers), tell // what another port does says nothing any more
}

// connect reports whether a machine answers, and when it does not, whether it said nothing at all.
func (c *Checker) connect(ctx context.Context, to netip.AddrPort, timeout time.Duration) (answers, hangs bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := c.Dial(ctx, "tcp", to.String())
	if err != nil {
		return false, errors.Is(err, context.DeadlineExceeded) || isTimeout(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // nothing was sent that could be lost, and the port is free again at once
	}
	_ = conn.Close()
	return true, false
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (c *Checker) schedule(m *machine, after time.Duration) {
	m.at = time.Now().Add(after)
	if m.place >= 0 {
		heap.Fix(&c.due, m.place)
		return
	}
	heap.Push(&c.due, m)
}

func (c *Checker) unschedule(m *machine) {
	if m.place >= 0 {
		heap.Remove(&c.due, m.place)
	}
}

// schedule is a heap of machines by when they are due.
type schedule []*machine

// Len is how many there are.
func (s schedule) Len() int { return len(s) }

// Less reports whether one is due before another.
func (s schedule) Less(i, j int) bool { return s[i].at.Before(s[j].at) }

// Swap swaps two.
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i, j
}

// Push adds one at the end.
func (s *schedule) Push(x any) {
	m := x.(*machine)
	m.place = len(*s)
	*s = append(*s, m)
}

// Pop takes the last one.
func (s *schedule) Pop() any {
	all := *s
	m := all[len(all)-1]
	all[len(all)-1] = nil
	*s, m.place = all[:len(all)-1], -1
	return m
}
