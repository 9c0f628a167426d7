// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"path"
	"strings"
	"sync"
)

// missed holds what virtual machines were looked for by and were not there, were too many, or in the way: names, patterns
// and UUIDs. Virtual machines come and go all the time, and only with these is it news to those who look for one.
type missed struct {
	mu   sync.Mutex
	what map[string]struct{} // in lower case
}

// Note remembers a name, the last part of a path, or a UUID.
func (m *missed) Note(value string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.what == nil {
		m.what = map[string]struct{}{}
	}
	m.what[strings.ToLower(value)] = struct{}{}
	m.what[strings.ToLower(path.Base(value))] = struct{}{}
}

// take reports whether one of the values was missed. It is not any more: who still looks for it notes it again.
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
