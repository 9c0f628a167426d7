// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"crypto/sha256"
	"encoding/hex"
)

// RuleName returns the name of the rule that is created for a VM group, within vCenter's length limit.
func RuleName(vmGroup string) string {
	const (
		tail    = "-rule"
		maxName = 80
	)
	if len(vmGroup)+len(tail) <= maxName {
		return vmGroup + tail
	}
	sum := sha256.Sum256([]byte(vmGroup))
	hash := "-" + hex.EncodeToString(sum[:])[:8] + tail
	return vmGroup[:maxName-len(hash)] + hash
}
