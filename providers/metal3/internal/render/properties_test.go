// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"maps"
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

// drawText draws strings that users may set, including strings with a meaning in YAML.
func drawText(t *rapid.T, label string) string {
	return rapid.OneOf(
		rapid.SampledFrom([]string{"", "yes", "0x1F", "1e3", "null", "- a", "a: b", "#", "|", "line\nline", "ü", "'", `"`, "{{ .Name }}"}),
		rapid.StringMatching(`[ -~]{0,12}`),
	).Draw(t, label)
}

// All strings are preserved, keys are sorted, and the provider ID is set last.
func TestMetaDataIsAMapOfStrings(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		spec, in := &infrav1.MetaData{}, input()
		want := map[string]string{}
		for range rapid.IntRange(0, 8).Draw(t, "strings") {
			entry := infrav1.MetaDataString{Key: drawText(t, "key"), Value: drawText(t, "value")}
			spec.Strings = append(spec.Strings, entry)
			want[entry.Key] = entry.Value
		}
		in.Machine.Name = drawText(t, "name")
		in.Host.Labels = map[string]string{"label": drawText(t, "label")}
		spec.ObjectNames = []infrav1.MetaDataObjectName{{Key: "name:", Object: infrav1.DataObjectMachine}}
		spec.FromLabels = []infrav1.MetaDataFromLabel{{Key: "label:", Object: infrav1.DataObjectBareMetalHost, Label: "label"}}
		want["name:"], want["label:"], want["providerid"] = in.Machine.Name, in.Host.Labels["label"], "metal/h-1/m3m-1"

		data, err := render.MetaData(spec, in)
		g.Expect(err).NotTo(HaveOccurred())
		got := map[string]string{}
		g.Expect(yaml.UnmarshalStrict(data, &got)).To(Succeed())
		g.Expect(got).To(Equal(want))
		again, err := render.MetaData(spec, in)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(data))
	})
}

// drawNetworkData draws valid templates.
func drawNetworkData(t *rapid.T) *infrav1.NetworkData {
	mac := &infrav1.NetworkLinkEthernetMac{FromHostInterface: ptr.To("eno1")}
	pool := func() *string {
		return rapid.SampledFrom([]*string{nil, ptr.To("rack-4"), ptr.To("bare")}).Draw(t, "pool")
	}
	spec := &infrav1.NetworkData{}
	for range rapid.IntRange(0, 3).Draw(t, "ethernets") {
		link := infrav1.NetworkDataLinkEthernet{Type: "phy", MACAddress: mac}
		link.ID, link.Name, link.MTU = drawText(t, "id"), drawText(t, "name"), ptr.To(rapid.Int32Range(0, 9000).Draw(t, "mtu"))
		spec.Links.Ethernets = append(spec.Links.Ethernets, link)
	}
	for range rapid.IntRange(0, 3).Draw(t, "networks") {
		network := infrav1.NetworkDataIPv4{ID: drawText(t, "id"), Link: drawText(t, "link")}
		network.IPAddressFromIPPool = "rack-4"
		route := infrav1.NetworkDataRoutev4{Network: "10.0.0.0", Prefix: rapid.Int32Range(0, 32).Draw(t, "prefix")}
		route.Gateway.FromIPPool, route.Services.DNSFromIPPool = pool(), pool()
		network.Routes = append(network.Routes, route)
		spec.Networks.IPv4 = append(spec.Networks.IPv4, network)
	}
	spec.Services.DNSFromIPPool = pool()
	return spec
}

// OpenStack's three lists always exist, with one entry for each of the template's, in a stable order.
func TestNetworkDataIsStable(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		spec := drawNetworkData(t)
		data, err := render.NetworkData(spec, input())
		g.Expect(err).NotTo(HaveOccurred())
		got := map[string][]map[string]any{}
		g.Expect(yaml.UnmarshalStrict(data, &got)).To(Succeed())
		g.Expect(slices.Sorted(maps.Keys(got))).To(Equal([]string{"links", "networks", "services"}))
		g.Expect(got["links"]).To(HaveLen(len(spec.Links.Ethernets)))
		g.Expect(got["networks"]).To(HaveLen(len(spec.Networks.IPv4)))
		for i, link := range got["links"] {
			g.Expect(link).To(HaveKeyWithValue("id", spec.Links.Ethernets[i].ID))
		}
		again, err := render.NetworkData(spec, input())
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(again).To(Equal(data))
	})
}

// Pools lists every pool that rendering uses, so that nothing is missing once all claims have an address.
func TestPoolsAreSufficientForRendering(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		g := NewWithT(t)
		spec := &infrav1.Metal3DataTemplateSpec{NetworkData: drawNetworkData(t)}
		in := input()
		pools, err := render.Pools(spec, in)
		g.Expect(err).NotTo(HaveOccurred())
		all := in.Addresses
		in.Addresses = map[string]render.Address{}
		for _, pool := range pools {
			in.Addresses[pool.Name] = all[pool.Name]
		}
		_, err = render.NetworkData(spec.NetworkData, in)
		g.Expect(err).NotTo(HaveOccurred())
	})
}
