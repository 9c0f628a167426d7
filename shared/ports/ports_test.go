// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ports_test

import (
	"net"
	"runtime"
	"strconv"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/ports"
)

func address(port int) string { return net.JoinHostPort(ports.Host, strconv.Itoa(port)) }

func TestReservedPortsCanBeUsed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	reserved, err := ports.Reserve(20)
	g.Expect(err).NotTo(HaveOccurred())
	defer reserved.Release()
	for range 3 {
		for i := range 20 {
			listener, err := net.Listen("tcp", address(reserved.First+i))
			g.Expect(err).NotTo(HaveOccurred())
			connection, err := net.Dial("tcp", listener.Addr().String())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(listener.Close()).To(Succeed())
			g.Expect(connection.Close()).To(Succeed())
		}
	}
}

func TestReservedPortsAreExclusive(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux reserves a port for another process")
	}
	t.Parallel()
	g := NewWithT(t)
	reserved, err := ports.Reserve(1)
	g.Expect(err).NotTo(HaveOccurred())
	defer reserved.Release()
	held := map[int]bool{reserved.First: true}
	for range 300 {
		other, err := ports.Reserve(1)
		g.Expect(err).NotTo(HaveOccurred())
		defer other.Release()
		g.Expect(held).NotTo(HaveKey(other.First))
		held[other.First] = true
	}
	server, err := net.Listen("tcp", address(0))
	g.Expect(err).NotTo(HaveOccurred())
	defer func() { g.Expect(server.Close()).To(Succeed()) }()
	for range 1000 {
		listener, err := net.Listen("tcp", address(0))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(held).NotTo(HaveKey(listener.Addr().(*net.TCPAddr).Port))
		g.Expect(listener.Close()).To(Succeed())
		connection, err := net.Dial("tcp", server.Addr().String())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(held).NotTo(HaveKey(connection.LocalAddr().(*net.TCPAddr).Port))
		g.Expect(connection.Close()).To(Succeed())
	}
}

func TestReserveSkipsUsedPorts(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	first, err := ports.Reserve(20)
	g.Expect(err).NotTo(HaveOccurred())
	second, err := ports.Reserve(20)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(second.First).To(Or(BeNumerically(">=", first.First+20), BeNumerically("<=", first.First-20)))
	first.Release()
	second.Release()
}
