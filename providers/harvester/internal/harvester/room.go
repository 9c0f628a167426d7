// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import "slices"

// room is how many machines are worked on at the same time through one connection. A Harvester that answers slowly holds as many
// of a controller's workers, and leaves the others to other Harvesters.
const room = 16

// entrance lets so many in at a time. The zero value is empty.
type entrance struct {
	inside  int
	waiting []Asker
}

// Enter lets a reconcile that is about to write use the connection, if there is room. If not it is to end: its object is woken when
// there is. Who has entered calls leave.
func (c *Connection) Enter(who Asker) (leave func(), entered bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.entrance.inside >= room {
		if !slices.Contains(c.entrance.waiting, who) {
			c.entrance.waiting = append(c.entrance.waiting, who)
		}
		return nil, false
	}
	c.entrance.inside++
	return c.exit, true
}

// exit makes room for whoever has waited longest. The last one out wakes all: nobody else would, if whom it wakes has no use for it
// any more.
func (c *Connection) exit() {
	c.mu.Lock()
	c.entrance.inside--
	n := min(1, len(c.entrance.waiting))
	if c.entrance.inside == 0 {
		n = len(c.entrance.waiting)
	}
	next := c.entrance.waiting[:n]
	c.entrance.waiting = c.entrance.waiting[n:]
	c.mu.Unlock()
	for _, who := range next {
		c.wakes.one(who.Kind, who.Key)
	}
}
