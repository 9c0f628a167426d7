// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// step is something that takes an object its time.
type step struct {
	uid  types.UID
	name string
}

// Clock knows since when steps go on. Times of objects are of whole seconds, which is too coarse for it.
type Clock struct {
	now   func() time.Time
	mu    sync.Mutex
	begun map[step]time.Time
}

// NewClock returns one that tells the time as now does.
func NewClock(now func() time.Time) *Clock {
	return &Clock{now: now, begun: map[step]time.Time{}}
}

// Now is what time it is.
func (c *Clock) Now() time.Time { return c.now() }

// Left is how long a step still takes, which begins when it is first asked for; 0 when it is over.
func (c *Clock) Left(uid types.UID, name string, takes time.Duration) time.Duration {
	if takes <= 0 {
		return 0
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	key := step{uid: uid, name: name}
	begun, ok := c.begun[key]
	if !ok {
		begun = c.now()
		c.begun[key] = begun
	}
	return max(0, takes-c.now().Sub(begun))
}

// Reset makes a step begin anew when it is next asked for.
func (c *Clock) Reset(uid types.UID, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.begun, step{uid: uid, name: name})
}

// Forget ends all steps of an object.
func (c *Clock) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.begun {
		if key.uid == uid {
			delete(c.begun, key)
		}
	}
}
