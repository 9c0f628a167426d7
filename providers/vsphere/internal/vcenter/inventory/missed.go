// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"path"
	"strings"
	"sync"
)

// missed holds the names, patterns and UUIDs of lookups of virtual machines that found none, found too many, or found one in
// the way. Virtual machines are created and deleted all the time; only a match with one of these is an event for objects that
// wait.
type missed struct {
	mu   sync.Mutex
	what map[string]struct{} // lower case
}

// Note records a name, the last part of a path, or a UUID.
func (m *missed) Note(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.what == nil {
		m.what = map[string]struct{}{}
	}
	m.what[strings.ToLower(value)] = struct{}{}
	m.what[strings.ToLower(path.Base(value))] = struct{}{}
}

// take reports whether one of the values was missed, and removes it. A later lookup records it again.
func (m *missed) take(values ...string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	found := false
	for _, value := range values {
		for pattern := range m.what {
			matches, err := path.Match(pattern, strings.ToLower(Unescape(value)))
			if value != "" && (matches && err == nil || strings.EqualFold(pattern, value)) {
				delete(m.what, pattern)
				found = true
			}
		}
	}
	return found
}
