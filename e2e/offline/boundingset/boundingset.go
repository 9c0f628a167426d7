// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package boundingset reads the capability bounding set of a process.
package boundingset

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Set has one bit for each capability in the bounding set, by the kernel's numbers.
type Set uint64

// Read parses the bounding set in the content of /proc/<pid>/status.
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
	return 0, errors.New("reading the bounding set: no CapBnd found")
}

// Has reports whether the set has the capability with this number.
func (s Set) Has(capability int) bool { return s&(1<<capability) != 0 }

// HasAllUpTo reports whether the set has every capability up to this number.
func (s Set) HasAllUpTo(last int) bool {
	all := Set(1)<<(last+1) - 1
	return s&all == all
}
