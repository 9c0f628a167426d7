// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"sync"
)

// LoseAnswers makes the server carry out the next n calls of a name, as Calls has it,
// and close the connection in place of an answer; n below zero means all until n is
// set to zero.
func (s *Server) LoseAnswers(name string, n int) { s.endpoint.losses.set(name, n) }

// OverloadCalls makes the proxy in front of vCenter answer the next n calls of a name
// with status 503 and a page for people; n below zero means all until n is set to
// zero. The calls are not carried out.
func (s *Server) OverloadCalls(name string, n int) { s.endpoint.overload.set(name, n) }

const overloadPage = "<html><body>503 Service Unavailable (Failed to connect to endpoint)</body></html>"

// losses are the answers that get lost.
type losses struct {
	mu   sync.Mutex
	left map[string]int // below zero: no end
}

func (l *losses) set(name string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left == nil {
		l.left = map[string]int{}
	}
	l.left[name] = n
}

// take reports whether the answer to a call gets lost.
func (l *losses) take(name string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.left[name] > 0 {
		l.left[name]--
		return true
	}
	return l.left[name] < 0
}

// HoldCalls has the server neither carry out nor answer calls of a name, as Calls has
// it, until it is called again with false.
func (s *Server) HoldCalls(name string, on bool) { s.endpoint.holds.set(name, on) }

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

// wait returns when calls of the name do not hang, or the client is gone.
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
