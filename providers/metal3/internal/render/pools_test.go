// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"os"
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

func metal3Pool(name string) render.Pool {
	return render.Pool{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: name}
}

var rack6 = render.Pool{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "rack-6"}

func TestPools(t *testing.T) {
	t.Parallel()
	for file, want := range map[string][]render.Pool{
		"pools":    {metal3Pool("bare"), metal3Pool("rack-4"), rack6},
		"networks": {metal3Pool("annotated"), metal3Pool("rack-4"), rack6},
		"services": {metal3Pool("rack-4")},
		"empty":    {},
		"links":    {},
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			text, err := os.ReadFile("testdata/" + file + templateSuffix)
			g.Expect(err).NotTo(HaveOccurred())
			pools, err := render.Pools(template(t, text), input())
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(pools).To(HaveExactElements(want))
		})
	}
}

func TestPoolsOfSameName(t *testing.T) {
	t.Parallel()
	_, err := render.Pools(template(t, []byte(`
metaData: {ipAddressesFromPool: [{key: a, name: p}]}
networkData: {networks: {ipv4: [{id: a, link: b, fromPoolRef: {name: p, kind: InClusterIPPool, apiGroup: ipam.cluster.x-k8s.io}}]}}
`)), input())
	NewWithT(t).Expect(err).To(MatchError("spec.networkData.networks.ipv4[0]: InClusterIPPool p of ipam.cluster.x-k8s.io and " +
		"IPPool p of ipam.metal3.io cannot be used by one template: rename one of the pools"))
}

// A gateway that is given as an address needs no pool.
func TestPoolsOfStaticGateway(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	pools, err := render.Pools(template(t, []byte(
		`networkData: {networks: {ipv4DHCP: [{id: a, link: b, routes: [{network: 10.0.0.0, gateway: {string: 10.0.0.1, fromIPPool: p}}]}]}}`)), input())
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(pools).To(BeEmpty())
}

func TestUnnamedPools(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	_, err := render.Pools(template(t, []byte(
		`networkData: {networks: {ipv4: [{id: a, link: b, fromPoolAnnotation: {object: machine, annotation: pool}}]}}`)), input())
	g.Expect(err).To(MatchError("spec.networkData.networks.ipv4[0].fromPoolAnnotation: Machine m-1 has no annotation pool: set it"))
	_, err = render.Pools(template(t, []byte(`networkData: {networks: {ipv6: [{id: a, link: b}]}}`)), input())
	g.Expect(err).To(MatchError("spec.networkData.networks.ipv6[0]: no pool is named"))
}
