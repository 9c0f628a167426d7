// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package kind

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

func TestVirtualIP(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for subnet, want := range map[string]string{
		"172.18.0.0/16":  "172.18.255.100",
		"192.168.0.0/20": "192.168.15.100",
		"10.1.0.0/23":    "10.1.1.100",
	} {
		_, parsed, err := net.ParseCIDR(subnet)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(virtualIP(parsed)).To(Equal(want))
	}
	_, small, err := net.ParseCIDR("10.0.0.0/25")
	g.Expect(err).NotTo(HaveOccurred())
	_, err = virtualIP(small)
	g.Expect(err).To(MatchError("10.0.0.0/25 is too small"))
}
