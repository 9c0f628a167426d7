// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"sync"

	"k8s.io/apimachinery/pkg/types"
)

// leases are what the DHCP servers of the networks have given. Who asks again is given the same.
type leases struct {
	mu       sync.Mutex
	networks map[string]*leasedNetwork
}

type leasedNetwork struct {
	next  netip.Addr
	given map[string]netip.Addr
}

func newLeases() *leases { return &leases{networks: map[string]*leasedNetwork{}} }

// lease returns an address of a network for who has this name, such as a MAC address. A network whose addresses nobody has
// set has those of 10.<100 and up>.0.0/16.
func (l *leases) lease(network, name string) netip.Addr {
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

// begin has a network give addresses from this one on.
func (l *leases) begin(network string, first netip.Addr) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.networks[network] = &leasedNetwork{next: first, given: map[string]netip.Addr{}}
}

// macOf is the address of a virtual machine's interface that has none of its own.
func macOf(vm types.UID, nic string) string {
	sum := sha256.Sum256([]byte(string(vm) + "/" + nic))
	return fmt.Sprintf("52:54:00:%02x:%02x:%02x", sum[0], sum[1], sum[2])
}
