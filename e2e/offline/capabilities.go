// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package offline

import (
	"fmt"
	"strconv"

	"github.com/faultline-io/faultline/e2e/offline/boundingset"
)

// coversAll compares the bounding set in /proc/self/status with the number of the kernel's last capability.
func coversAll(status, last string) (bool, error) {
	highest, err := strconv.Atoi(last)
	if err != nil {
		return false, fmt.Errorf("reading the last capability: %w", err)
	}
	set, err := boundingset.Read(status)
	if err != nil {
		return false, err
	}
	return set.HasAllUpTo(highest), nil
}
