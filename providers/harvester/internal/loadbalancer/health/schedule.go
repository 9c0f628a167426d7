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
	// firstWithin is the maximum delay of the first check, unless the period is shorter. It avoids connecting to all new machines at
	// once.
	firstWithin = time.Second
	// jitter is the relative jitter of a period, so that machines added together are not checked together forever.
	jitter = 0.1
)

// firstDelay returns the delay of the first check.
func firstDelay(period time.Duration) time.Duration {
	return rand.N(max(min(period, firstWithin), 1)) //nolint:gosec // spreads checks, protects nothing
}

// nextDelay returns the delay of the next check.
func nextDelay(period time.Duration) time.Duration {
	return time.Duration(float64(period) * (1 + jitter*(2*rand.Float64()-1))) //nolint:gosec // as above
}

// Start checks machines until ctx ends, and returns when all connections are closed.
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
		case <-c.rescheduled:
		case <-due:
		}
	}
}

// reschedule makes Start read the schedule again.
func (c *Checker) reschedule() {
	select {
	case c.rescheduled <- struct{}{}:
	default: // already pending
	}
}

// begin starts the checks that are due. It returns the time until the next one, if a connection is available for it.
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
		return 0, false // the end of a check or a new machine triggers the next call
	}
	return c.due[0].due.Sub(now), true
}

// next returns a machine that is due. Slow machines are set aside when enough of them occupy a connection.
func (c *Checker) next(now time.Time) *machine {
	room := c.slowInFlight < max(c.connections/2, 1)
	for room && len(c.slow) > 0 {
		m := c.slow[0]
		c.slow = c.slow[1:]
		if !m.removed {
			return m
		}
	}
	for len(c.due) > 0 && !c.due[0].due.After(now) {
		m := heap.Pop(&c.due).(*machine)
		if room || !m.hangs {
			return m
		}
		c.slow = append(c.slow, m)
	}
	return nil
}

// done records the result of a check.
func (c *Checker) done(m *machine, slow bool, port uint16, answers, hangs bool) {
	changed, tell := c.recordResult(m, slow, port, answers, hangs)
	c.metrics.checked(answers, hangs)
	c.reschedule()
	if changed && tell != nil {
		tell()
	}
}

func (c *Checker) recordResult(m *machine, slow bool, port uint16, answers, hangs bool) (changed bool, tell func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.inFlight--
	if slow {
		c.slowInFlight--
	}
	c.metrics.inFlight(c.inFlight)
	if m.removed {
		return false, nil
	}
	m.hangs = hangs
	c.schedule(m, nextDelay(m.check.Period))
	if c.changed != nil {
		notify, of := c.changed, m.of
		tell = func() { notify(of) }
	}
	return port == m.check.Port && m.record(answers), tell // a result for a former port is ignored
}

// connect reports whether a machine accepts the connection, and otherwise whether the attempt timed out.
func (c *Checker) connect(ctx context.Context, to netip.AddrPort, timeout time.Duration) (answers, hangs bool) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	conn, err := c.Dial(ctx, "tcp", to.String())
	if err != nil {
		return false, errors.Is(err, context.DeadlineExceeded) || isTimeout(err)
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0) // no data was sent, and the port is free immediately
	}
	_ = conn.Close()
	return true, false
}

func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

func (c *Checker) schedule(m *machine, after time.Duration) {
	m.due = time.Now().Add(after)
	if m.index >= 0 {
		heap.Fix(&c.due, m.index)
		return
	}
	heap.Push(&c.due, m)
}

func (c *Checker) unschedule(m *machine) {
	if m.index >= 0 {
		heap.Remove(&c.due, m.index)
	}
}

// schedule is a heap of machines by due time.
type schedule []*machine

// Len implements heap.Interface.
func (s schedule) Len() int { return len(s) }

// Less implements heap.Interface.
func (s schedule) Less(i, j int) bool { return s[i].due.Before(s[j].due) }

// Swap implements heap.Interface.
func (s schedule) Swap(i, j int) {
	s[i], s[j] = s[j], s[i]
	s[i].index, s[j].index = i, j
}

// Push implements heap.Interface.
func (s *schedule) Push(x any) {
	m := x.(*machine)
	m.index = len(*s)
	*s = append(*s, m)
}

// Pop implements heap.Interface.
func (s *schedule) Pop() any {
	all := *s
	m := all[len(all)-1]
	all[len(all)-1] = nil
	*s, m.index = all[:len(all)-1], -1
	return m
}
