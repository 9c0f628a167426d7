// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package engine

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// coversAll compares the bounding set in /proc/self/status with the number of the
// last capability that the kernel knows.
func coversAll(status, last string) (bool, error) {
	highest, err := strconv.Atoi(last)
	if err != nil {
		return false, fmt.Errorf("reading the last capability: %w", err)
	}
	for line := range strings.Lines(status) {
		value, ok := strings.CutPrefix(line, "CapBnd:")
		if !ok {
			continue
		}
		bits, err := strconv.ParseUint(strings.TrimSpace(value), 16, 64)
		if err != nil {
			return false, fmt.Errorf("reading the bounding set: %w", err)
		}
		all := uint64(1)<<(highest+1) - 1
		return bits&all == all, nil
	}
	return false, errors.New("reading the bounding set: there is no CapBnd")
}
