// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package tool

import (
	"net"
	"testing"

	. "github.com/onsi/gomega"
)

func TestReachableAddress(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	g.Expect(ReachableAddress("127.0.0.1:1")).To(Equal("127.0.0.1:1"))
	_, err := ReachableAddress("nonsense")
	g.Expect(err).To(HaveOccurred())
	if address, err := ReachableAddress(":1"); err == nil { // A machine without a network has none.
		host, port, err := net.SplitHostPort(address)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(port).To(Equal("1"))
		g.Expect(net.ParseIP(host).IsLoopback()).To(BeFalse())
	}
}
