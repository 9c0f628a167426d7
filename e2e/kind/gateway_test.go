// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package kind

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
)

func TestTheGatewayOfIPv4IsFoundWhetherOrNotIPv6HasOne(t *testing.T) {
	t.Parallel()
	want := Network{Card: "br-79939a4bf6c6", Gateway: netip.MustParseAddr("172.18.0.1"), Subnet: netip.MustParsePrefix("172.18.0.0/16")}
	six := netip.MustParsePrefix("fc00:f853:ccd:e793::/64")
	for name, test := range map[string]struct {
		inspected string
		six       netip.Prefix
	}{
		"IPv4 alone":             {"79939a4bf6c6 172.18.0.0/16,172.18.0.1 ", netip.Prefix{}},
		"IPv6 without a gateway": {"79939a4bf6c6 172.18.0.0/16,172.18.0.1 fc00:f853:ccd:e793::/64, ", six},
		"IPv6 before IPv4":       {"79939a4bf6c6 fc00:f853:ccd:e793::/64,fc00:f853:ccd:e793::1 172.18.0.0/16,172.18.0.1 ", six},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			network, err := parseNetwork(test.inspected)
			want := want
			want.Subnet6 = test.six
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(network).To(Equal(want))
		})
	}
	_, err := parseNetwork("79939a4bf6c6 fc00:f853:ccd:e793::/64, ")
	NewWithT(t).Expect(err).To(MatchError(ContainSubstring("no IPv4 gateway")))
}
