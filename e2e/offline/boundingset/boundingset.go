// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boundingset reads which of the kernel's capabilities a process may pass on.
package boundingset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Set has a bit for each capability that a process may pass on, by the kernel's numbers.
type Set uint64

// Read finds the set in a process's /proc/<pid>/status.
func Read(status string) (Set, error) {
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "CapBnd:")
		if !ok {
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return 0, fmt.Errorf("reading the bounding set: %w", err)
		}
		return Set(bits), nil
	}
	return 0, errors.New("reading the bounding set: there is no CapBnd")
}

// Has reports whether the capability of this number is in the set.
func (s Set) Has(capability int) bool { return s&(1<<capability) != 0 }

// HasAllUpTo reports whether every capability up to that of this number is in the set.
func (s Set) HasAllUpTo(last int) bool {
	all := Set(1)<<(last+1) - 1
	return s&all == all
}
