// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipaddr

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"net/netip"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// Parse parses an address. It normalizes IPv4-mapped IPv6 addresses and drops the zone.
func Parse(given string) (netip.Addr, bool) {
	addr, err := netip.ParseAddr(given)
	if err != nil {
		return netip.Addr{}, false
	}
	return addr.Unmap().WithZone(""), true
}

// Range is the part of a subnet from which addresses are allocated. Both ends are included, and the gateway is never allocated.
type Range struct {
	First, Last netip.Addr
	Subnet      netip.Prefix
	// Gateway is the zero Addr for a subnet of a single address, which has none.
	Gateway netip.Addr
}

// MakeRange completes a range of a pool like Harvester's load balancer: the start defaults to the first address after the network
// address, the end to the last address before the broadcast address (IPv4), and the gateway to the first address. A subnet of two
// addresses has neither a network nor a broadcast address: both are allocated, except for the gateway, which defaults to the second.
func MakeRange(r lbv1.Range) (Range, error) {
	subnet, err := netip.ParsePrefix(r.Subnet)
	if err != nil {
		return Range{}, fmt.Errorf("subnet %q must be a CIDR, for example 192.168.1.0/24", r.Subnet)
	}
	if subnet.IsSingleIP() {
		return singleAddress(r, subnet)
	}
	network := subnet.Masked()
	first, last := network.Addr().Next(), LastOf(network)
	switch {
	case isPair(network):
		first = network.Addr()
	case network.Addr().Is4():
		last = last.Prev()
	}
	made := Range{Subnet: network}
	if made.First, err = within(network, "rangeStart", r.RangeStart, first); err != nil {
		return Range{}, err
	}
	if made.Last, err = within(network, "rangeEnd", r.RangeEnd, last); err != nil {
		return Range{}, err
	}
	if made.Gateway, err = within(network, "gateway", r.Gateway, network.Addr().Next()); err != nil {
		return Range{}, err
	}
	if made.Last.Less(made.First) {
		made.First, made.Last = made.Last, made.First
	}
	return made, nil
}

// singleAddress returns the range of a subnet that consists of one address.
func singleAddress(r lbv1.Range, subnet netip.Prefix) (Range, error) {
	for _, given := range []string{r.RangeStart, r.RangeEnd} {
		if addr, err := netip.ParseAddr(given); given != "" && (err != nil || addr.Unmap() != subnet.Addr()) {
			return Range{}, fmt.Errorf("%s must be in subnet %s, which has one address", given, subnet)
		}
	}
	return Range{First: subnet.Addr(), Last: subnet.Addr(), Subnet: subnet}, nil
}

func within(subnet netip.Prefix, field, given string, otherwise netip.Addr) (netip.Addr, error) {
	if given == "" {
		return otherwise, nil
	}
	addr, err := netip.ParseAddr(given)
	addr = addr.Unmap()
	switch {
	case err != nil:
		return netip.Addr{}, fmt.Errorf("%s %q must be an IP address", field, given)
	case !subnet.Contains(addr):
		return netip.Addr{}, fmt.Errorf("%s %s must be in subnet %s", field, given, subnet)
	case isPair(subnet):
		return addr, nil
	case addr == subnet.Addr():
		return netip.Addr{}, fmt.Errorf("%s %s must not be the network address of subnet %s", field, given, subnet)
	case addr.Is4() && addr == LastOf(subnet):
		return netip.Addr{}, fmt.Errorf("%s %s must not be the broadcast address of subnet %s", field, given, subnet)
	}
	return addr, nil
}

// isPair reports whether a subnet has two addresses.
func isPair(subnet netip.Prefix) bool { return subnet.Bits() == subnet.Addr().BitLen()-1 }

// LastOf returns the address of the subnet in which all bits of the host are set.
func LastOf(subnet netip.Prefix) netip.Addr {
	bytes := subnet.Masked().Addr().AsSlice()
	for bit := subnet.Bits(); bit < len(bytes)*8; bit++ {
		bytes[bit/8] |= 0x80 >> (bit % 8)
	}
	last, _ := netip.AddrFromSlice(bytes)
	return last
}

// Contains reports whether the address is between the ends of the range. The gateway may be, too.
func (r Range) Contains(addr netip.Addr) bool {
	return !addr.Less(r.First) && !r.Last.Less(addr)
}

// Size returns the number of allocatable addresses, at most math.MaxInt64.
func (r Range) Size() int64 {
	size, ok := distance(r.First, r.Last)
	switch {
	case !ok:
		return math.MaxInt64
	case r.Gateway.IsValid() && r.Contains(r.Gateway):
		return size
	default:
		return size + 1
	}
}

// distance returns b - a; false if it does not fit into an int64.
func distance(a, b netip.Addr) (int64, bool) {
	x, y := a.As16(), b.As16()
	high := binary.BigEndian.Uint64(y[:8]) - binary.BigEndian.Uint64(x[:8])
	from, to := binary.BigEndian.Uint64(x[8:]), binary.BigEndian.Uint64(y[8:])
	if to < from {
		high--
	}
	low := to - from
	return int64(low), high == 0 && low < math.MaxInt64 //nolint:gosec // it fits
}

// Overlaps reports whether the ranges have an address in common.
func (r Range) Overlaps(other Range) bool {
	return !r.Last.Less(other.First) && !other.Last.Less(r.First)
}

// String returns both ends.
func (r Range) String() string {
	if r.First == r.Last {
		return r.First.String()
	}
	return r.First.String() + "-" + r.Last.String()
}

// MakeRanges completes all ranges of a pool. If one is invalid it returns none, and the error names the field.
func MakeRanges(spec []lbv1.Range) (Ranges, error) {
	if len(spec) == 0 {
		return newRanges(nil), errors.New("spec.ranges must not be empty")
	}
	all := make([]Range, len(spec))
	for i := range spec {
		var err error
		if all[i], err = MakeRange(spec[i]); err != nil {
			return newRanges(nil), fmt.Errorf("spec.ranges[%d]: %w", i, err)
		}
	}
	return newRanges(all), nil
}
