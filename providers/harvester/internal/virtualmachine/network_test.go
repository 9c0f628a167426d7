// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package virtualmachine_test

import (
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
)

func TestStaticFromSpec(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		address string
		network *infrav1.VMNetworkConfig
		want    string
		wrong   string
	}{
		"its own":         {address: "10.0.0.5/25", network: &infrav1.VMNetworkConfig{SubnetMask: "255.255.255.0"}, want: "10.0.0.5/25"},
		"the network's":   {address: "10.0.0.5", network: &infrav1.VMNetworkConfig{SubnetMask: "255.255.255.0"}, want: "10.0.0.5/24"},
		"as upstream's":   {address: "10.0.0.5", want: "10.0.0.5/16"},
		"IPv6":            {address: "fd00::5/64", want: "fd00::5/64"},
		"IPv6 without":    {address: "fd00::5", wrong: "IPv6 address fd00::5 must have a prefix length"},
		"no address":      {address: "five", wrong: `networkConfig.address: "five" must be an IP address`},
		"a mask of holes": {address: "10.0.0.5", network: &infrav1.VMNetworkConfig{SubnetMask: "255.0.255.0"}, wrong: `subnetMask "255.0.255.0" must be a subnet mask`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			static, err := virtualmachine.StaticFromSpec(&infrav1.NetworkConfig{Address: tc.address, Gateway: "10.0.0.1"}, tc.network)
			if tc.wrong != "" {
				g.Expect(err).To(MatchError(ContainSubstring(tc.wrong)))
				return
			}
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(static.Address.String()).To(Equal(tc.want))
			g.Expect(static.Gateway.String()).To(Equal("10.0.0.1"))
		})
	}
}

func TestStaticFromPool(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	address, subnet, gateway := netip.MustParseAddr("10.0.0.5"), netip.MustParsePrefix("10.0.0.0/25"), netip.MustParseAddr("10.0.0.1")
	static, err := virtualmachine.StaticFromPool(address, subnet, gateway, &infrav1.VMNetworkConfig{SubnetMask: "255.255.255.0", Gateway: "10.0.0.254", DNSServers: []string{"9.9.9.9"}})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(static).To(Equal(&virtualmachine.Static{
		Address: netip.MustParsePrefix("10.0.0.5/24"), Gateway: netip.MustParseAddr("10.0.0.254"), DNSServers: []string{"9.9.9.9"},
	}))
	static, err = virtualmachine.StaticFromPool(address, subnet, gateway, &infrav1.VMNetworkConfig{})
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(static).To(Equal(&virtualmachine.Static{Address: netip.MustParsePrefix("10.0.0.5/25"), Gateway: gateway}))
}
