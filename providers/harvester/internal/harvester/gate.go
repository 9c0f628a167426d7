// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"maps"
	"slices"
	"time"
)

const (
	// room is the maximum number of machines that are reconciled concurrently through one connection. A slow Harvester blocks at most
	// that many workers of a controller and leaves the others to other Harvesters.
	room = 16
	// invitation is how long a slot is reserved for an asker: the queue may be long, and an asker that is deleted or paused does not
	// return.
	invitation = 10 * time.Second
)

// gate is a FIFO semaphore. The zero value is empty.
type gate struct {
	inside  int
	waiting []Requester
	// reserved are the askers with a reserved slot, and since when.
	reserved map[Requester]time.Time
}

// enter takes a slot if one is free, and otherwise queues the asker and returns false.
func (e *gate) enter(who Requester, now time.Time) bool {
	_, invited := e.reserved[who]
	delete(e.reserved, who)
	if !invited && e.full(now) {
		if !slices.Contains(e.waiting, who) {
			e.waiting = append(e.waiting, who)
		}
		return false
	}
	e.inside++
	return true
}

// full reports whether no slot is free, or other askers wait for one.
func (e *gate) full(now time.Time) bool {
	maps.DeleteFunc(e.reserved, func(_ Requester, since time.Time) bool { return now.Sub(since) >= invitation })
	return e.inside+len(e.reserved)+len(e.waiting) >= room
}

// reserve reserves the free slots for the askers that have waited longest, and returns these.
func (e *gate) reserve(now time.Time) []Requester {
	if e.reserved == nil {
		e.reserved = map[Requester]time.Time{}
	}
	maps.DeleteFunc(e.reserved, func(_ Requester, since time.Time) bool { return now.Sub(since) >= invitation })
	n := max(0, min(room-e.inside-len(e.reserved), len(e.waiting)))
	next := e.waiting[:n:n]
	e.waiting = e.waiting[n:]
	for _, who := range next {
		e.reserved[who] = now
	}
	return next
}

// forget removes an asker that does not return.
func (e *gate) forget(who Requester) {
	delete(e.reserved, who)
	e.waiting = slices.DeleteFunc(e.waiting, func(w Requester) bool { return w == who })
}

// Enter takes a slot for a reconcile that is about to write. If none is free it returns false, and the reconcile must end: the asker is
// enqueued when a slot is reserved for it. Otherwise the caller must call leave.
func (c *Connection) Enter(who Requester) (leave func(), entered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.gate.enter(who, time.Now()) {
		return nil, false
	}
	return c.exit, true
}

// exit releases a slot.
func (c *Connection) exit() {
	c.mu.Lock()
	c.gate.inside--
	c.mu.Unlock()
	c.reserveNext()
}

// reserveNext enqueues the askers with a new reservation, and runs again after the reservations expire, to pass unused slots on.
func (c *Connection) reserveNext() {
	c.mu.Lock()
	next := c.gate.reserve(time.Now())
	c.mu.Unlock()
	for _, who := range next {
		c.enqueuer.enqueue(who.Kind, who.Key)
	}
	if len(next) > 0 {
		time.AfterFunc(invitation, c.reserveNext)
	}
}
