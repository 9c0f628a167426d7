// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta2_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

func TestAServerHasOneSpelling(t *testing.T) {
	t.Parallel()
	for server, want := range map[string]string{
		"vc":                      "vc",
		"VC":                      "vc",
		"vc:443":                  "vc",
		"https://vc/sdk":          "vc",
		"https://VC:443":          "vc",
		"vc:8443":                 "vc:8443",
		"10.0.0.1:443":            "10.0.0.1",
		"2001:DB8::1":             "[2001:db8::1]",
		"[2001:db8::1]:443":       "[2001:db8::1]",
		"[2001:db8::1]:8443":      "[2001:db8::1]:8443",
		"http://vc:8989":          "http://vc:8989",
		"evil.example/vc.example": "evil.example/vc.example",
	} {
		g := NewWithT(t)
		g.Expect(infrav1.ServerAddress(server)).To(Equal(want), server)
		g.Expect(infrav1.ServerAddress(want)).To(Equal(want), server)
		g.Expect(infrav1.SameServer(server, want)).To(BeTrue())
	}
}
