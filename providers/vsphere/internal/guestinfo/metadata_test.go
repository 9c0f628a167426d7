// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guestinfo_test

import (
	"encoding/base64"
	"flag"
	"os"
	"path/filepath"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
)

var update = flag.Bool("update", false, "update the golden files")

// The golden files contain what cloud-init reads; review every change to them against its documentation.
func TestMetadata(t *testing.T) {
	t.Parallel()
	const first, second, third = "00:50:56:00:00:01", "00:50:56:00:00:02", "00:50:56:00:00:03"
	for name, tc := range map[string]struct {
		network infrav1.NetworkSpec
		macs    []string
	}{
		"dhcp":  {infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{DHCP4: ptr.To(true)}}}, []string{first}},
		"dhcp6": {infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{DHCP6: ptr.To(true)}}}, []string{first}},
		"static": {infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{
			DeviceName: "ens192", IPAddrs: []string{"10.0.0.5/24", "2001:db8::5/64"}, Gateway4: "10.0.0.1", Gateway6: "2001:db8::1",
			MTU: ptr.To[int64](9000), Nameservers: []string{"10.0.0.53", "2001:db8::53"}, SearchDomains: []string{"example.com"},
		}}}, []string{first}},
		"two-cards": {infrav1.NetworkSpec{
			Devices: []infrav1.NetworkDeviceSpec{
				{DHCP4: ptr.To(true), Routes: []infrav1.NetworkRouteSpec{{To: "10.2.0.0/16", Via: "10.0.0.2", Metric: ptr.To[int32](5)}}},
				{IPAddrs: []string{"192.168.0.5/24"}},
			},
			Routes: []infrav1.NetworkRouteSpec{{To: "default", Via: "10.0.0.1", Metric: ptr.To[int32](0)}},
		}, []string{first, second}},
		"routes-of-every-card": {infrav1.NetworkSpec{
			Devices: []infrav1.NetworkDeviceSpec{
				{IPAddrs: []string{"2001:db8::5/64"}}, {DHCP6: ptr.To(true)}, {SkipIPAllocation: ptr.To(true)},
			},
			Routes: []infrav1.NetworkRouteSpec{{To: "10.3.0.0/16", Via: "10.0.0.3", Metric: ptr.To[int32](7)}},
		}, []string{first, second, third}},
		"overrides": {infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{
			DHCP4: ptr.To(true), DHCP6: ptr.To(true),
			DHCP4Overrides: &infrav1.DHCPOverrides{
				Hostname: ptr.To("other"), RouteMetric: ptr.To[int32](0), SendHostname: ptr.To(false), UseDNS: ptr.To(false), UseDomains: ptr.To("route"),
				UseHostname: ptr.To(true), UseMTU: ptr.To(false), UseNTP: ptr.To(true), UseRoutes: ptr.To("false"),
			},
			DHCP6Overrides: &infrav1.DHCPOverrides{UseDNS: ptr.To(true)},
		}}}, []string{first}},
		"more-cards-than-devices": {infrav1.NetworkSpec{
			Devices: []infrav1.NetworkDeviceSpec{{DHCP4: ptr.To(true)}},
			Routes:  []infrav1.NetworkRouteSpec{{To: "10.3.0.0/16", Via: "10.0.0.3", Metric: ptr.To[int32](7)}},
		}, []string{first, second}},
		"skipped":  {infrav1.NetworkSpec{Devices: []infrav1.NetworkDeviceSpec{{SkipIPAllocation: ptr.To(true)}}}, []string{first}},
		"no-cards": {},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := guestinfo.Metadata("vm-1", tc.network, tc.macs)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(HaveLen(2))
			g.Expect(got).To(HaveKeyWithValue("guestinfo.metadata.encoding", "base64"))
			data, err := base64.StdEncoding.DecodeString(got["guestinfo.metadata"])
			g.Expect(err).NotTo(HaveOccurred())

			golden := filepath.Join("testdata", name+".yaml")
			if *update {
				g.Expect(os.WriteFile(golden, data, 0o600)).To(Succeed())
			}
			want, err := os.ReadFile(golden)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(string(data)).To(Equal(string(want)))
		})
	}
}

// Metadata written again after a crash must be byte-identical.
func TestMetadataIsDeterministic(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	network := infrav1.NetworkSpec{Devices: make([]infrav1.NetworkDeviceSpec, 12)}
	macs := make([]string, 12)
	once, err := guestinfo.Metadata("vm-1", network, macs)
	g.Expect(err).NotTo(HaveOccurred())
	for range 10 {
		again, err := guestinfo.Metadata("vm-1", network, macs)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(once))
	}
}

// An address must never be assigned to the wrong card.
func TestMetadataNeedsOneAddressForEachCard(t *testing.T) {
	t.Parallel()
	network := infrav1.NetworkSpec{Devices: make([]infrav1.NetworkDeviceSpec, 2)}
	for _, macs := range [][]string{nil, {"00:50:56:00:00:01"}} {
		_, err := guestinfo.Metadata("vm-1", network, macs)
		NewWithT(t).Expect(err).To(MatchError(ContainSubstring("spec.network.devices has 2")))
	}
}
