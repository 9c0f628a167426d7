// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine

import (
	"net"
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// FuzzAddresses lists the addresses that a guest reports. The API server must accept each of them.
func FuzzAddresses(f *testing.F) {
	f.Add("10.0.0.1", "fd00::1%eth0")
	f.Add("::ffff:10.0.0.1", "fe80::1")
	f.Fuzz(func(t *testing.T, first, second string) {
		for _, ip := range Addresses([]vcenter.GuestNIC{{IPs: []string{first}}, {IPs: []string{second}}}) {
			if parsed := net.ParseIP(ip); parsed == nil || len(ip) > 39 || parsed.IsLoopback() || parsed.IsUnspecified() || parsed.IsMulticast() {
				t.Fatalf("%q is listed", ip)
			}
		}
	})
}
