// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"net/netip"
	"testing"

	kubevirtv1 "kubevirt.io/api/core/v1"
)

// FuzzAddressOf chooses among the addresses that a guest reports. The chosen one must be valid in an EndpointSlice.
func FuzzAddressOf(f *testing.F) {
	f.Add("fd00::1%eth0", "10.0.0.1/24")
	f.Add("::ffff:10.0.0.1", " 10.0.0.1 ")
	f.Add("fe80::1", "127.0.0.1")
	f.Fuzz(func(t *testing.T, first, second string) {
		nics := []kubevirtv1.VirtualMachineInstanceNetworkInterface{{IP: first}, {Name: "nic-1", IPs: []string{second}}}
		for _, family := range []func(netip.Addr) bool{netip.Addr.Is4, isIPv6} {
			address := addressOf(nics, family)
			if address.IsValid() && (!family(address) || !address.IsGlobalUnicast() || address.Is4In6() || address.Zone() != "") {
				t.Fatalf("%q and %q lead to %s", first, second, address)
			}
		}
	})
}
