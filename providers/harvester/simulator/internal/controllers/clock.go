// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// step is an operation on an object that takes time.
type step struct {
	uid  types.UID
	name string
}

// Clock records when steps began. Timestamps of objects have a resolution of one second, which is too coarse.
type Clock struct {
	now   func() time.Time
	mu    sync.Mutex
	begun map[step]time.Time
}

// NewClock returns a Clock that uses now.
func NewClock(now func() time.Time) *Clock {
	return &Clock{now: now, begun: map[step]time.Time{}}
}

// Now returns the current time.
func (c *Clock) Now() time.Time { return c.now() }

// Remaining returns the remaining time of a step, or 0 if it is over. The step begins with the first call.
func (c *Clock) Remaining(uid types.UID, name string, takes time.Duration) time.Duration {
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

// Reset restarts a step with the next call of Remaining.
func (c *Clock) Reset(uid types.UID, name string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.begun, step{uid: uid, name: name})
}

// Forget removes all steps of an object.
func (c *Clock) Forget(uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for key := range c.begun {
		if key.uid == uid {
			delete(c.begun, key)
		}
	}
}
