// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"encoding/binary"
	"net"
	"net/netip"
	"sync"

	"github.com/vmware/govmomi/vim25/types"
)

// leases simulates a DHCP server on each network: network n has 10.n.0.0/16 and fd00:n::/64, in the order in which networks are
// first used. Addresses are never reused, and a card keeps its own.
type leases struct {
	mu       sync.Mutex
	networks map[types.ManagedObjectReference]*leaseRange
}

type leaseRange struct {
	number uint8
	last   uint16
	byMAC  map[string]uint16
}

// firstLease leaves addresses for gateways and load balancers.
const firstLease = 100

func (l *leases) lease(network types.ManagedObjectReference, mac string) (number uint8, host uint16) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.networks == nil {
		l.networks = map[types.ManagedObjectReference]*leaseRange{}
	}
	r := l.networks[network]
	if r == nil {
		r = &leaseRange{number: uint8(len(l.networks) + 1), last: firstLease - 1, byMAC: map[string]uint16{}}
		l.networks[network] = r
	}
	if _, ok := r.byMAC[mac]; !ok {
		r.last++
		r.byMAC[mac] = r.last
	}
	return r.number, r.byMAC[mac]
}

func (l *leases) dhcp4(network types.ManagedObjectReference, mac string) netip.Prefix {
	number, host := l.lease(network, mac)
	return netip.PrefixFrom(netip.AddrFrom4([4]byte{10, number, byte(host >> 8), byte(host)}), 16)
}

func (l *leases) dhcp6(network types.ManagedObjectReference, mac string) netip.Prefix {
	number, host := l.lease(network, mac)
	address := [16]byte{0: 0xfd, 3: number}
	binary.BigEndian.PutUint16(address[14:], host)
	return netip.PrefixFrom(netip.AddrFrom16(address), 64)
}

// linkLocal returns the address that a card configures itself.
func linkLocal(mac string) (netip.Prefix, bool) {
	hw, err := net.ParseMAC(mac)
	if err != nil || len(hw) != 6 {
		return netip.Prefix{}, false
	}
	address := [16]byte{0: 0xfe, 1: 0x80, 8: hw[0] ^ 2, 9: hw[1], 10: hw[2], 11: 0xff, 12: 0xfe, 13: hw[3], 14: hw[4], 15: hw[5]}
	return netip.PrefixFrom(netip.AddrFrom16(address), 64), true
}
