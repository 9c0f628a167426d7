// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"encoding/hex"
	"strings"
	"testing"
)

// An accepted fingerprint has the length of a certificate hash, in upper or lower case.
func FuzzThumbprint(f *testing.F) {
	f.Add(strings.TrimSuffix(strings.Repeat("0a:", sha1Bytes), ":"))
	f.Add(strings.TrimSuffix(strings.Repeat("FF:", sha256Bytes), ":"))
	f.Add(strings.Repeat(":", sha1Bytes-1))
	f.Fuzz(func(t *testing.T, text string) {
		if !isFingerprint(text) {
			return
		}
		hash, err := hex.DecodeString(strings.ReplaceAll(text, ":", ""))
		if err != nil || len(hash) != sha1Bytes && len(hash) != sha256Bytes {
			t.Fatalf("%q is accepted: %v", text, err)
		}
		if !isFingerprint(strings.ToUpper(text)) || !isFingerprint(strings.ToLower(text)) {
			t.Fatalf("%q is accepted in one case only", text)
		}
	})
}
