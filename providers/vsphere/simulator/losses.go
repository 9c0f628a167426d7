// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import "sync"

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
