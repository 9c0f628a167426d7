// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
)

// FuzzNetwork gives a card two addresses from third-party IPAM providers.
func FuzzNetwork(f *testing.F) {
	f.Add("10.0.0.9/24", "10.0.0.5", int32(24), "10.0.0.1", "fd00::5", int32(64), "fd00::1")
	f.Add("", "::ffff:10.0.0.5", int32(120), "10.0.0.1", "10.0.0.5", int32(24), "")
	f.Add("x", "fe80::1%eth0", int32(10), "fe80::2%eth1", "fe80::1", int32(-1), "fe80::2")
	f.Fuzz(func(t *testing.T, own, address string, prefix int32, gateway, other string, otherPrefix int32, otherGateway string) {
		before := network(infrav1.NetworkDeviceSpec{IPAddrs: []string{own}})
		made, err := virtualmachine.NetworkWithPoolAddresses(before, []virtualmachine.PoolAddress{
			given(0, "vm-0-0", address, prefix, gateway), given(0, "vm-0-1", other, otherPrefix, otherGateway),
		})
		if !slices.Equal(before.Devices[0].IPAddrs, []string{own}) {
			t.Fatalf("the machine's own network became %v", before)
		}
		if err != nil {
			return
		}
		card, addresses := made.Devices[0], map[netip.Addr]bool{}
		for i, text := range card.IPAddrs {
			parsed, err := netip.ParsePrefix(text)
			if err != nil && i == 0 {
				continue // set by the user
			}
			if err != nil || addresses[parsed.Addr()] || strings.Contains(text, "%") {
				t.Fatalf("the card has %q: %v", card.IPAddrs, err)
			}
			addresses[parsed.Addr()] = true
		}
		if len(card.IPAddrs) != 3 {
			t.Fatalf("the card has %q", card.IPAddrs)
		}
		four, errFour := netip.ParseAddr(card.Gateway4)
		six, errSix := netip.ParseAddr(card.Gateway6)
		if card.Gateway4 != "" && (errFour != nil || !four.Is4()) || card.Gateway6 != "" && (errSix != nil || !six.Is6()) {
			t.Fatalf("the gateways are %q and %q", card.Gateway4, card.Gateway6)
		}
	})
}
