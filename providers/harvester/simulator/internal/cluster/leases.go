// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"strings"
	"sync"
)

// Leases holds the leases of the networks' DHCP servers. A client that asks again gets the same address.
type Leases struct {
	mu       sync.Mutex
	networks map[string]*leasedNetwork
}

type leasedNetwork struct {
	next   netip.Addr
	leased map[string]netip.Addr
}

// NewLeases returns an empty set of leases.
func NewLeases() *Leases { return &Leases{networks: map[string]*leasedNetwork{}} }

// Lease returns an address of a network for the client with this name, such as a MAC address. A network without configured
// addresses uses 10.<100 and up>.0.0/16.
func (l *Leases) Lease(network, name string) netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.networks[network]
	if n == nil {
		n = &leasedNetwork{next: netip.AddrFrom4([4]byte{10, byte(100 + len(l.networks)), 0, 10}), leased: map[string]netip.Addr{}}
		l.networks[network] = n
	}
	address, ok := n.leased[name]
	if !ok {
		address, n.next = n.next, n.next.Next()
		n.leased[name] = address
	}
	return address
}

// SetFirst sets the first address that a network leases.
func (l *Leases) SetFirst(network string, first netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.networks[network] = &leasedNetwork{next: first, leased: map[string]netip.Addr{}}
}

// Qualified returns the name of a network with its namespace, which defaults to the given one.
func Qualified(namespace, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}
