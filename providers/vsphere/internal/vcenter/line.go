// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"sync"
	"sync/atomic"
	"time"
)

// line is what all sessions on one server know of whether it answers. A vCenter that hangs may have many machines and
// accounts; each call that waits for it holds a caller who may have another vCenter to serve.
type line struct {
	open atomic.Int64 // calls that wait for an answer
	last atomic.Int64 // when the last answer came, or the first of the open calls began, in Unix nanoseconds
}

// hangs reports whether as many calls as one session may make wait for an answer, and none has come for a while.
func (l *line) hangs() bool {
	return l.open.Load() >= maxCalls && time.Since(time.Unix(0, l.last.Load())) > slotTimeout
}

func (l *line) begin() {
	if l.open.Add(1) == 1 {
		l.last.Store(time.Now().UnixNano())
	}
}

func (l *line) end(answered bool) {
	if answered {
		l.last.Store(time.Now().UnixNano())
	}
	l.open.Add(-1)
}

// lines are those of a pool, by server. Its zero value is ready to use.
type lines struct {
	mu sync.Mutex
	to map[string]*line
}

func (l *lines) line(server string) *line {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.to == nil {
		l.to = map[string]*line{}
	}
	if l.to[server] == nil {
		l.to[server] = &line{}
	}
	return l.to[server]
}

func (l *lines) forget(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.to, server)
}
