// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guestinfo_test

import (
	"encoding/base64"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/guestinfo"
)

func TestBootstrap(t *testing.T) {
	t.Parallel()
	data := []byte("#cloud-config\nhostname: ü\n")
	content := base64.StdEncoding.EncodeToString(data)
	cloudInit := map[string]string{"guestinfo.userdata": content, "guestinfo.userdata.encoding": "base64"}
	for format, want := range map[string]map[string]string{
		"":             cloudInit,
		"cloud-config": cloudInit,
		"ignition":     {"guestinfo.ignition.config.data": content, "guestinfo.ignition.config.data.encoding": "base64"},
	} {
		t.Run("format "+format, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			got, err := guestinfo.Bootstrap(format, data)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(got).To(Equal(want))
		})
	}
}

// A guest decodes once, so it could not read data that a bootstrap provider has already encoded.
func TestBase64BootstrapData(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	data := []byte("#cloud-config\nhostname: ü\n")
	once := base64.StdEncoding.EncodeToString(data)
	twice := base64.StdEncoding.EncodeToString([]byte(once))
	for _, given := range []string{once, twice, once + "\n"} {
		got, err := guestinfo.Bootstrap("", []byte(given))
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(got).To(HaveKeyWithValue("guestinfo.userdata", once))
	}
}

func TestInvalidBootstrap(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := guestinfo.Bootstrap("powershell", []byte("x"))
	g.Expect(err).To(MatchError(ContainSubstring(`"powershell"`)))
	for _, nothing := range []string{"", "\n"} {
		_, err = guestinfo.Bootstrap("cloud-config", []byte(nothing))
		g.Expect(err).To(MatchError(ContainSubstring("value")))
	}
}

// A hash that changes without need would reconfigure every machine.
func TestHashFollowsTheSpec(t *testing.T) {
	t.Parallel()
	spec := func(change func(*infrav1.NetworkSpec)) infrav1.NetworkSpec {
		network := infrav1.NetworkSpec{
			Devices: []infrav1.NetworkDeviceSpec{{NetworkName: "network", DHCP4: ptr.To(true)}},
			Routes:  []infrav1.NetworkRouteSpec{{To: "10.0.0.0/8", Via: "10.0.0.1", Metric: ptr.To[int32](1)}},
		}
		change(&network)
		return network
	}
	same := spec(func(*infrav1.NetworkSpec) {})
	hash := func(g *WithT, name string, network infrav1.NetworkSpec) string {
		sum, err := guestinfo.Hash(name, network)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(sum).To(MatchRegexp("^[0-9a-f]{16}$"), "it is the value of an annotation")
		return sum
	}
	g := NewWithT(t)
	g.Expect(hash(g, "vm", spec(func(*infrav1.NetworkSpec) {}))).To(Equal(hash(g, "vm", same)), "pointers to equal values are equal")
	for name, other := range map[string]infrav1.NetworkSpec{
		"an address":       spec(func(n *infrav1.NetworkSpec) { n.Devices[0].IPAddrs = []string{"10.0.0.5/24"} }),
		"DHCP":             spec(func(n *infrav1.NetworkSpec) { n.Devices[0].DHCP4 = ptr.To(false) }),
		"a route":          spec(func(n *infrav1.NetworkSpec) { n.Routes[0].Via = "10.0.0.2" }),
		"a route's metric": spec(func(n *infrav1.NetworkSpec) { n.Routes[0].Metric = ptr.To[int32](2) }),
		"a nameserver":     spec(func(n *infrav1.NetworkSpec) { n.Devices[0].Nameservers = []string{"10.0.0.53"} }),
		"one card more":    spec(func(n *infrav1.NetworkSpec) { n.Devices = append(n.Devices, n.Devices[0]) }),
	} {
		g.Expect(hash(g, "vm", other)).NotTo(Equal(hash(g, "vm", same)), name)
	}
	g.Expect(hash(g, "vm-2", same)).NotTo(Equal(hash(g, "vm", same)), "the name")
}

func TestHasBootstrapData(t *testing.T) {
	g := NewWithT(t)
	data, err := guestinfo.Bootstrap("cloud-config", []byte("#cloud-config"))
	g.Expect(err).NotTo(HaveOccurred())
	settings := map[string]string{"guestinfo.metadata": "x"}
	g.Expect(guestinfo.Has(settings, data)).To(BeFalse())
	for key, value := range data {
		settings[key] = value
	}
	g.Expect(guestinfo.Has(settings, data)).To(BeTrue())
	settings[guestinfo.UserDataKey] = "other"
	g.Expect(guestinfo.Has(settings, data)).To(BeFalse())
	g.Expect(guestinfo.Has(settings, nil)).To(BeFalse(), "no data proves nothing")
}
