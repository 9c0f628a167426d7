// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"sync/atomic"
	"time"
)

// Line is what all sessions on one server know of whether it answers. A vCenter that hangs may have many machines and
// accounts; each call that waits for it holds a caller who may have another vCenter to serve.
type Line struct {
	open atomic.Int64 // calls that wait for an answer
	last atomic.Int64 // when the last answer came, or the first of the open calls began, in Unix nanoseconds
}

// Hangs reports whether as many calls as one session may make wait for an answer, and none has come for a while.
func (l *Line) Hangs() bool {
	return l.open.Load() >= Most && time.Since(time.Unix(0, l.last.Load())) > Patience
}

// Begin notes that a call waits for an answer.
func (l *Line) Begin() {
	if l.open.Add(1) == 1 {
		l.last.Store(time.Now().UnixNano())
	}
}

// End notes that a call does not wait any more.
func (l *Line) End(answered bool) {
	if answered {
		l.last.Store(time.Now().UnixNano())
	}
	l.open.Add(-1)
}

// Lines are those of a pool, by server. Its zero value is ready to use.
type Lines struct {
	mu sync.Mutex
	to map[string]*Line
}

// To returns the one to a server.
func (l *Lines) To(server string) *Line {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		l.to = map[string]*Line{}
	}
	if l.to[server] == nil {
		l.to[server] = &Line{}
	}
	return l.to[server]
}

// Forget drops what is known of a server.
func (l *Lines) Forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.to, server)
}
