// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"sync"
	"sync/atomic"
	"time"
)

// Line tracks whether a server responds, for all sessions on it. A hanging vCenter may have many machines and accounts; each
// waiting call blocks a caller that may have another vCenter to serve.
type Line struct {
	open atomic.Int64 // calls waiting for a response
	last atomic.Int64 // when the last response arrived, or the first of the open calls began, in Unix nanoseconds
}

// Hangs reports whether at least MaxCalls calls are waiting and no response has arrived for SlotTimeout.
func (l *Line) Hangs() bool {
	return l.open.Load() >= MaxCalls && time.Since(time.Unix(0, l.last.Load())) > SlotTimeout
}

// Begin records that a call waits for a response.
func (l *Line) Begin() {
	if l.open.Add(1) == 1 {
		l.last.Store(time.Now().UnixNano())
	}
}

// End records that a call no longer waits.
func (l *Line) End(answered bool) {
	if answered {
		l.last.Store(time.Now().UnixNano())
	}
	l.open.Add(-1)
}

// Lines holds the Line of each server of a pool. The zero value is ready to use.
type Lines struct {
	mu sync.Mutex
	to map[string]*Line
}

// To returns the Line of a server.
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

// Forget drops the Line of a server.
func (l *Lines) Forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.to, server)
}
