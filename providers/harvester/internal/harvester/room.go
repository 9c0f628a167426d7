// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"maps"
	"slices"
	"time"
)

const (
	// room is how many machines are worked on at the same time through one connection. A Harvester that answers slowly holds as many
	// of a controller's workers, and leaves the others to other Harvesters.
	room = 16
	// invitation is how long a place is kept for whom it was given to: a queue may be long, and who is gone, or paused, does not come.
	invitation = 10 * time.Second
)

// entrance lets so many in at a time, in the order in which they came. The zero value is empty.
type entrance struct {
	inside  int
	waiting []Asker
	// invited have a place, and since when: they are on their way.
	invited map[Asker]time.Time
}

// enter reports whether there is a place for somebody, who waits if not.
func (e *entrance) enter(who Asker, now time.Time) bool {
	_, invited := e.invited[who]
	delete(e.invited, who)
	if !invited && e.full(now) {
		if !slices.Contains(e.waiting, who) {
			e.waiting = append(e.waiting, who)
		}
		return false
	}
	e.inside++
	return true
}

// full reports whether there is no place, or there are others who have waited for one.
func (e *entrance) full(now time.Time) bool {
	maps.DeleteFunc(e.invited, func(_ Asker, since time.Time) bool { return now.Sub(since) >= invitation })
	return e.inside+len(e.invited)+len(e.waiting) >= room
}

// invite gives the places that are free to those who have waited longest, and returns them.
func (e *entrance) invite(now time.Time) []Asker {
	if e.invited == nil {
		e.invited = map[Asker]time.Time{}
	}
	maps.DeleteFunc(e.invited, func(_ Asker, since time.Time) bool { return now.Sub(since) >= invitation })
	n := max(0, min(room-e.inside-len(e.invited), len(e.waiting)))
	next := e.waiting[:n:n]
	e.waiting = e.waiting[n:]
	for _, who := range next {
		e.invited[who] = now
	}
	return next
}

// forget takes somebody out who does not come any more.
func (e *entrance) forget(who Asker) {
	delete(e.invited, who)
	e.waiting = slices.DeleteFunc(e.waiting, func(w Asker) bool { return w == who })
}

// Enter lets a reconcile that is about to write use the connection, if there is room. If not it is to end: its object is woken when
// its turn has come, and no other takes its place. Who has entered calls leave.
func (c *Connection) Enter(who Asker) (leave func(), entered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.entrance.enter(who, time.Now()) {
		return nil, false
	}
	return c.exit, true
}

// exit makes room for whoever has waited longest.
func (c *Connection) exit() {
	c.mu.Lock()
	c.entrance.inside--
	c.mu.Unlock()
	c.inviteNext()
}

// inviteNext wakes those who may enter now, and looks again when they should have come: what they leave free is for others.
func (c *Connection) inviteNext() {
	c.mu.Lock()
	next := c.entrance.invite(time.Now())
	c.mu.Unlock()
	for _, who := range next {
		c.wakes.one(who.Kind, who.Key)
	}
	if len(next) > 0 {
		time.AfterFunc(invitation, c.inviteNext)
	}
}
