// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpfront

import (
	"context"
	"sync"
)

const overloadPage = "<html><body>503 Service Unavailable (Failed to connect to endpoint)</body></html>"

// callCounts holds how many of the next calls are affected by a fault, by name.
type callCounts struct {
	mu   sync.Mutex
	left map[string]int // below zero means all
}

func (l *callCounts) set(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == nil {
		l.left = map[string]int{}
	}
	l.left[name] = n
}

// take reports whether the fault affects this call, and counts it.
func (l *callCounts) take(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left[name] > 0 {
		l.left[name]--
		return true
	}
	return l.left[name] < 0
}

// holds are the calls that hang.
type holds struct {
	mu   sync.Mutex
	ends map[string]chan struct{}
}

func (h *holds) set(name string, on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	end, held := h.ends[name]
	switch {
	case on && !held:
		if h.ends == nil {
			h.ends = map[string]chan struct{}{}
		}
		h.ends[name] = make(chan struct{})
	case !on && held:
		close(end)
		delete(h.ends, name)
	}
}

func (h *holds) releaseAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, end := range h.ends {
		close(end)
	}
	h.ends = nil
}

// wait returns when calls with this name no longer hang, or the client has disconnected.
func (h *holds) wait(ctx context.Context, name string) {
	h.mu.Lock()
	end := h.ends[name]
	h.mu.Unlock()
	if end == nil {
		return
	}
	select {
	case <-end:
	case <-ctx.Done():
	}
}
