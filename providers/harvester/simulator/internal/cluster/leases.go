// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package cluster

import (
	"net/netip"
	"strings"
	"sync"
)

// Leases are what the DHCP servers of the networks have given. Who asks again is given the same.
type Leases struct {
	mu       sync.Mutex
	networks map[string]*leasedNetwork
}

type leasedNetwork struct {
	next  netip.Addr
	given map[string]netip.Addr
}

// NewLeases has none.
func NewLeases() *Leases { return &Leases{networks: map[string]*leasedNetwork{}} }

// Lease returns an address of a network for who has this name, such as a MAC address. A network whose addresses nobody has
// set has those of 10.<100 and up>.0.0/16.
func (l *Leases) Lease(network, name string) netip.Addr {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := l.networks[network]
	if n == nil {
		n = &leasedNetwork{next: netip.AddrFrom4([4]byte{10, byte(100 + len(l.networks)), 0, 10}), given: map[string]netip.Addr{}}
		l.networks[network] = n
	}
	address, ok := n.given[name]
	if !ok {
		address, n.next = n.next, n.next.Next()
		n.given[name] = address
	}
	return address
}

// Begin has a network give addresses from this one on.
func (l *Leases) Begin(network string, first netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.networks[network] = &leasedNetwork{next: first, given: map[string]netip.Addr{}}
}

// Qualified is the name of a network with its namespace, which it has already or is this one.
func Qualified(namespace, name string) string {
	if strings.Contains(name, "/") {
		return name
	}
	return namespace + "/" + name
}
