// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package webhook

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// validNetworkSpec returns a card with static addresses and one with DHCP.
func validNetworkSpec() infrav1.NetworkSpec {
	return infrav1.NetworkSpec{
		Devices: []infrav1.NetworkDeviceSpec{{
			NetworkName:   "VM Network",
			DeviceName:    "eth0",
			IPAddrs:       []string{"10.0.0.10/24", "2001:db8::10/64"},
			Gateway4:      "10.0.0.1",
			Gateway6:      "fe80::1",
			MTU:           ptr.To[int64](1500),
			MACAddr:       "00:50:56:00:00:01",
			Nameservers:   []string{"10.0.0.2", "2001:db8::2"},
			SearchDomains: []string{"example.com"},
			Routes: []infrav1.NetworkRouteSpec{
				{To: "10.0.0.0/8", Via: "10.0.0.3", Metric: ptr.To[int32](0)},
				{To: "10.1.2.3", Via: "10.0.0.3", Metric: ptr.To[int32](1)},
			},
		}, {
			NetworkName:      "storage",
			DHCP4:            ptr.To(true),
			DHCP4Overrides:   &infrav1.DHCPOverrides{UseDomains: ptr.To("route"), UseRoutes: ptr.To("false")},
			DHCP6Overrides:   &infrav1.DHCPOverrides{},
			SkipIPAllocation: ptr.To(false),
		}},
		Routes: []infrav1.NetworkRouteSpec{{To: "default", Via: "2001:db8::1", Metric: ptr.To[int32](0)}},
	}
}

func TestValidateNetwork(t *testing.T) {
	device := func(change func(*infrav1.NetworkDeviceSpec)) func(*infrav1.NetworkSpec) {
		return func(s *infrav1.NetworkSpec) { change(&s.Devices[0]) }
	}
	pool := infrav1.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "p"}
	testRules(t, validNetworkSpec, validateNetwork, []ruleCase[infrav1.NetworkSpec]{
		{"no cards", func(s *infrav1.NetworkSpec) { s.Devices = nil }, nil},
		{"card without a network", device(func(d *infrav1.NetworkDeviceSpec) { d.NetworkName = "" }), nil},
		{"address without prefix length", device(func(d *infrav1.NetworkDeviceSpec) { d.IPAddrs[1] = "10.0.0.11" }), []string{"spec.devices[0].ipAddrs[1]: Invalid value"}},
		{"prefix length too large", device(func(d *infrav1.NetworkDeviceSpec) { d.IPAddrs[0] = "10.0.0.10/33" }), []string{"spec.devices[0].ipAddrs[0]: Invalid value"}},
		{"no address at all", device(func(d *infrav1.NetworkDeviceSpec) { d.IPAddrs[0] = "<nil>/32" }), []string{"spec.devices[0].ipAddrs[0]: Invalid value"}},
		{"IPv6 gateway for IPv4", device(func(d *infrav1.NetworkDeviceSpec) { d.Gateway4 = "fe80::1" }), []string{"spec.devices[0].gateway4: Invalid value"}},
		{"IPv4 gateway for IPv6", device(func(d *infrav1.NetworkDeviceSpec) { d.Gateway6 = "10.0.0.1" }), []string{"spec.devices[0].gateway6: Invalid value"}},
		{"gateway with prefix length", device(func(d *infrav1.NetworkDeviceSpec) { d.Gateway4 = "10.0.0.1/24" }), []string{"spec.devices[0].gateway4: Invalid value"}},
		{"MAC address with too few pairs", device(func(d *infrav1.NetworkDeviceSpec) { d.MACAddr = "00:50:56:00:00" }), []string{"spec.devices[0].macAddr: Invalid value"}},
		{"MAC address with eight pairs", device(func(d *infrav1.NetworkDeviceSpec) { d.MACAddr = "00:50:56:00:00:01:02:03" }), []string{"spec.devices[0].macAddr: Invalid value"}},
		{"MAC address twice", func(s *infrav1.NetworkSpec) {
			s.Devices[0].MACAddr, s.Devices[1].MACAddr = "00:50:56:00:00:ab", "00:50:56:00:00:AB"
		}, []string{"spec.devices[1].macAddr: Duplicate value"}},
		{"MTU too small", device(func(d *infrav1.NetworkDeviceSpec) { d.MTU = ptr.To[int64](67) }), []string{"spec.devices[0].mtu: Invalid value"}},
		{"MTU too large", device(func(d *infrav1.NetworkDeviceSpec) { d.MTU = ptr.To[int64](65536) }), []string{"spec.devices[0].mtu: Invalid value"}},
		{"name server by name", device(func(d *infrav1.NetworkDeviceSpec) { d.Nameservers[0] = "dns.example.com" }), []string{"spec.devices[0].nameservers[0]: Invalid value"}},
		{"addresses from pools and its own", device(func(d *infrav1.NetworkDeviceSpec) { d.AddressesFromPools = []infrav1.IPPoolReference{pool, pool} }), nil},
		{"pool without a group", device(func(d *infrav1.NetworkDeviceSpec) {
			d.AddressesFromPools = []infrav1.IPPoolReference{pool, {Kind: pool.Kind, Name: pool.Name}}
		}), []string{"spec.devices[0].addressesFromPools[1].apiGroup: Required value"}},
		{"pool without anything", device(func(d *infrav1.NetworkDeviceSpec) { d.AddressesFromPools = make([]infrav1.IPPoolReference, 1) }), []string{
			"spec.devices[0].addressesFromPools[0].apiGroup: Required value", "spec.devices[0].addressesFromPools[0].kind: Required value",
			"spec.devices[0].addressesFromPools[0].name: Required value",
		}},
		{"unknown useDomains", device(func(d *infrav1.NetworkDeviceSpec) {
			d.DHCP4Overrides = &infrav1.DHCPOverrides{UseDomains: ptr.To("maybe")}
		}), []string{"spec.devices[0].dhcp4Overrides.useDomains: Unsupported value"}},
		{"unknown useRoutes", device(func(d *infrav1.NetworkDeviceSpec) {
			d.DHCP6Overrides = &infrav1.DHCPOverrides{UseRoutes: ptr.To("route")}
		}), []string{"spec.devices[0].dhcp6Overrides.useRoutes: Unsupported value"}},
		{"route to nowhere", device(func(d *infrav1.NetworkDeviceSpec) { d.Routes[0].To = "10.0.0" }), []string{"spec.devices[0].routes[0].to: Invalid value"}},
		{"route through a network", device(func(d *infrav1.NetworkDeviceSpec) { d.Routes[1].Via = "10.0.0.0/8" }), []string{"spec.devices[0].routes[1].via: Invalid value"}},
		{"route of two IP versions", device(func(d *infrav1.NetworkDeviceSpec) { d.Routes[0].Via = "fe80::1" }), []string{"spec.devices[0].routes[0].via: Invalid value"}},
		{"route of the machine", func(s *infrav1.NetworkSpec) { s.Routes[0].To = "everywhere" }, []string{"spec.routes[0].to: Invalid value"}},
	})
}

func TestWarnNetwork(t *testing.T) {
	const noAddress = "spec.devices[0]: has no source of addresses"
	for name, tc := range map[string]struct {
		device infrav1.NetworkDeviceSpec
		want   []string
	}{
		"static addresses": {infrav1.NetworkDeviceSpec{NetworkName: "a", IPAddrs: []string{"10.0.0.10/24"}}, nil},
		"DHCP for IPv4":    {infrav1.NetworkDeviceSpec{NetworkName: "a", DHCP4: ptr.To(true)}, nil},
		"DHCP for IPv6":    {infrav1.NetworkDeviceSpec{NetworkName: "a", DHCP6: ptr.To(true)}, nil},
		"skipped":          {infrav1.NetworkDeviceSpec{NetworkName: "a", SkipIPAllocation: ptr.To(true)}, nil},
		"pools":            {infrav1.NetworkDeviceSpec{NetworkName: "a", AddressesFromPools: make([]infrav1.IPPoolReference, 1)}, nil},
		"pools of a card that is skipped": {infrav1.NetworkDeviceSpec{NetworkName: "a", SkipIPAllocation: ptr.To(true), AddressesFromPools: make([]infrav1.IPPoolReference, 1)},
			[]string{"spec.devices[0].skipIPAllocation: has no effect together with addressesFromPools"}},
		"no address": {infrav1.NetworkDeviceSpec{NetworkName: "a"}, []string{noAddress}},
		"DHCP off":   {infrav1.NetworkDeviceSpec{NetworkName: "a", DHCP4: ptr.To(false)}, []string{noAddress}},
		"no network": {infrav1.NetworkDeviceSpec{DHCP4: ptr.To(true)}, []string{"spec.devices[0].networkName: is not set"}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			warnings := warnNetwork(infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{tc.device}}, field.NewPath("spec"))
			g.Expect(warnings).To(HaveLen(len(tc.want)))
			for i, want := range tc.want {
				g.Expect(warnings[i]).To(HavePrefix(want))
			}
		})
	}
}
