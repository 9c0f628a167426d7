// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package placement_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
)

type networkCase struct {
	own      []infrav1.NetworkDeviceSpec
	topology infrav1.Topology
	want     []infrav1.NetworkDeviceSpec
}

func networkCases() map[string]networkCase {
	own := infrav1.NetworkDeviceSpec{
		NetworkName: "own", DeviceName: "ens1", DHCP4: ptr.To(true), MTU: ptr.To[int64](1400), IPAddrs: []string{"10.0.0.5/24"},
		Nameservers: []string{"10.0.0.1"}, SearchDomains: []string{"own.example.com"},
		DHCP4Overrides: &infrav1.DHCPOverrides{RouteMetric: ptr.To[int32](10)},
	}
	return map[string]networkCase{
		"none: the machine's stay": {
			own:  []infrav1.NetworkDeviceSpec{own},
			want: []infrav1.NetworkDeviceSpec{own},
		},
		"a name: the rest of the card stays": {
			own:      []infrav1.NetworkDeviceSpec{own},
			topology: infrav1.Topology{Networks: []string{"zone"}},
			want:     []infrav1.NetworkDeviceSpec{with(own, func(d *infrav1.NetworkDeviceSpec) { d.NetworkName = "zone" })},
		},
		"fewer than cards: the other cards stay": {
			own:      []infrav1.NetworkDeviceSpec{own, own},
			topology: infrav1.Topology{Networks: []string{"zone"}},
			want:     []infrav1.NetworkDeviceSpec{with(own, func(d *infrav1.NetworkDeviceSpec) { d.NetworkName = "zone" }), own},
		},
		"more than cards: cards are added": {
			own:      []infrav1.NetworkDeviceSpec{own},
			topology: infrav1.Topology{Networks: []string{"zone-1", "zone-2"}},
			want: []infrav1.NetworkDeviceSpec{
				with(own, func(d *infrav1.NetworkDeviceSpec) { d.NetworkName = "zone-1" }), {NetworkName: "zone-2"},
			},
		},
		"configurations: what they say and no more": {
			own: []infrav1.NetworkDeviceSpec{own},
			topology: infrav1.Topology{NetworkConfigurations: []infrav1.NetworkConfiguration{{
				NetworkName: "zone", DHCP4: ptr.To(false), DHCP6: ptr.To(true), Nameservers: []string{"10.1.0.1"},
				SearchDomains:  []string{"zone.example.com"},
				DHCP4Overrides: &infrav1.DHCPOverrides{UseDNS: ptr.To(false)},
				DHCP6Overrides: &infrav1.DHCPOverrides{UseNTP: ptr.To(false)},
			}}},
			want: []infrav1.NetworkDeviceSpec{with(own, func(d *infrav1.NetworkDeviceSpec) {
				d.NetworkName, d.DHCP4, d.DHCP6 = "zone", ptr.To(false), ptr.To(true)
				d.Nameservers, d.SearchDomains = []string{"10.1.0.1"}, []string{"zone.example.com"}
				d.DHCP4Overrides = &infrav1.DHCPOverrides{UseDNS: ptr.To(false)}
				d.DHCP6Overrides = &infrav1.DHCPOverrides{UseNTP: ptr.To(false)}
			})},
		},
		"a configuration without a network: the machine's network": {
			own:      []infrav1.NetworkDeviceSpec{own},
			topology: infrav1.Topology{NetworkConfigurations: []infrav1.NetworkConfiguration{{Nameservers: []string{"10.1.0.1"}}}},
			want:     []infrav1.NetworkDeviceSpec{with(own, func(d *infrav1.NetworkDeviceSpec) { d.Nameservers = []string{"10.1.0.1"} })},
		},
	}
}

// The networks of a failure domain are merged into the machine's cards, one by one.
func TestZoneNetworks(t *testing.T) {
	t.Parallel()
	for name, tc := range networkCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			machine := newMachine()
			machine.Spec.Network.Devices = tc.own
			zone := newZone("a", func(z *placement.Zone) {
				z.Domain.Spec.Topology.Networks = tc.topology.Networks
				z.Domain.Spec.Topology.NetworkConfigurations = tc.topology.NetworkConfigurations
			})
			spec, err := placement.VM(newCluster(), machine, zone)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(spec.Network.Devices).To(Equal(tc.want))
		})
	}
}

func with(device infrav1.NetworkDeviceSpec, change func(*infrav1.NetworkDeviceSpec)) infrav1.NetworkDeviceSpec {
	changed := *device.DeepCopy()
	change(&changed)
	return changed
}
