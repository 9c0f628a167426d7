// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipaddr_test

import (
	"math"
	"testing"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ipaddr"
)

func TestMakeRange(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given                lbv1.Range
		first, last, gateway string
		size                 int64
	}{
		"a subnet alone":                 {lbv1.Range{Subnet: "192.168.100.0/24"}, "192.168.100.1", "192.168.100.254", "192.168.100.1", 253},
		"a start":                        {lbv1.Range{Subnet: "192.168.100.0/24", RangeStart: "192.168.100.251"}, "192.168.100.251", "192.168.100.254", "192.168.100.1", 4},
		"an end":                         {lbv1.Range{Subnet: "192.168.100.0/24", RangeEnd: "192.168.100.10"}, "192.168.100.1", "192.168.100.10", "192.168.100.1", 9},
		"a gateway outside of the range": {lbv1.Range{Subnet: "192.168.100.0/24", RangeStart: "192.168.100.1", RangeEnd: "192.168.100.10", Gateway: "192.168.100.11"}, "192.168.100.1", "192.168.100.10", "192.168.100.11", 10},
		"its end before its start":       {lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.9", RangeEnd: "10.0.0.5"}, "10.0.0.5", "10.0.0.9", "10.0.0.1", 5},
		"a single address":               {lbv1.Range{Subnet: "192.168.100.10/32"}, "192.168.100.10", "192.168.100.10", "", 1},
		"an address inside the subnet":   {lbv1.Range{Subnet: "192.168.100.77/24"}, "192.168.100.1", "192.168.100.254", "192.168.100.1", 253},
		"IPv6":                           {lbv1.Range{Subnet: "fd00::/120"}, "fd00::1", "fd00::ff", "fd00::1", 254},
		"a single address of IPv6":       {lbv1.Range{Subnet: "fd00::5/128"}, "fd00::5", "fd00::5", "", 1},
		"two addresses":                  {lbv1.Range{Subnet: "192.168.100.6/31"}, "192.168.100.6", "192.168.100.7", "192.168.100.7", 1},
		"two addresses, the first of them the gateway": {lbv1.Range{Subnet: "192.168.100.6/31", Gateway: "192.168.100.6"}, "192.168.100.6", "192.168.100.7", "192.168.100.6", 1},
		"two addresses of IPv6":                        {lbv1.Range{Subnet: "fd00::6/127"}, "fd00::6", "fd00::7", "fd00::7", 1},
		"an end that IPv6 has":                         {lbv1.Range{Subnet: "fd00::/120", RangeStart: "fd00::f0", RangeEnd: "fd00::ff"}, "fd00::f0", "fd00::ff", "fd00::1", 16},
		"as IPv6 writes IPv4":                          {lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "::ffff:10.0.0.9", RangeEnd: "10.0.0.11"}, "10.0.0.9", "10.0.0.11", "10.0.0.1", 3},
		"more than can be counted":                     {lbv1.Range{Subnet: "fd00::/16"}, "fd00::1", "fd00:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "fd00::1", math.MaxInt64},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			made, err := ipaddr.MakeRange(tc.given)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect([]string{made.First.String(), made.Last.String()}).To(Equal([]string{tc.first, tc.last}))
			if tc.gateway == "" {
				g.Expect(made.Gateway.IsValid()).To(BeFalse())
			} else {
				g.Expect(made.Gateway.String()).To(Equal(tc.gateway))
			}
			g.Expect(made.Size()).To(Equal(tc.size))
		})
	}
}

func TestMakeRangeRejectsInvalidFields(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		given lbv1.Range
		wants string
	}{
		"no subnet":                    {lbv1.Range{Subnet: "192.168.100.0"}, `subnet "192.168.100.0"`},
		"no address":                   {lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "ten"}, `rangeStart "ten" must be an IP address`},
		"outside":                      {lbv1.Range{Subnet: "10.0.0.0/24", RangeEnd: "10.0.1.9"}, "rangeEnd 10.0.1.9 must be in subnet"},
		"the subnet's own":             {lbv1.Range{Subnet: "10.0.0.0/24", RangeStart: "10.0.0.0"}, "rangeStart 10.0.0.0 must not be the network address of subnet"},
		"the broadcast address":        {lbv1.Range{Subnet: "10.0.0.0/24", Gateway: "10.0.0.255"}, "gateway 10.0.0.255 must not be the broadcast address"},
		"outside of the only one":      {lbv1.Range{Subnet: "10.0.0.5/32", RangeStart: "10.0.0.6"}, "10.0.0.6 must be in subnet"},
		"a gateway of another network": {lbv1.Range{Subnet: "10.0.0.0/24", Gateway: "fd00::1"}, "gateway fd00::1 must be in subnet"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := ipaddr.MakeRange(tc.given)
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.wants)))
		})
	}
}
