// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package render_test

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/metal3/internal/render"
)

// errorCases maps errors to templates. A message must name the field, the error, and the available alternatives.
type errorCases map[string]struct{ template, want string }

func (cases errorCases) check(t *testing.T) {
	t.Helper()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			spec := template(t, []byte(tc.template))
			var err error
			if spec.MetaData != nil {
				_, err = render.MetaData(spec.MetaData, input())
			} else {
				_, err = render.NetworkData(spec.NetworkData, input())
			}
			NewWithT(t).Expect(err).To(MatchError(ContainSubstring(tc.want)))
		})
	}
}

func TestErrorsOfMetaData(t *testing.T) {
	t.Parallel()
	errorCases{
		"an interface that the host has not": {
			`metaData: {fromHostInterfaces: [{key: a, interface: eno1}, {key: b, interface: eth1}]}`,
			"spec.metaData.fromHostInterfaces[1].interface: BareMetalHost h-1 has no interface eth1; it has eno1, eno2",
		},
		"an object that there is not": {
			`metaData: {objectNames: [{key: a, object: pod}]}`,
			`spec.metaData.objectNames[0]: object is "pod": use machine, metal3machine or baremetalhost`,
		},
		"an object that has no labels": {
			`metaData: {fromLabels: [{key: a, object: "", label: b}]}`,
			`spec.metaData.fromLabels[0]: object is ""`,
		},
		"an object that has no annotations": {
			`metaData: {fromAnnotations: [{key: a, object: node, annotation: b}]}`,
			`spec.metaData.fromAnnotations[0]: object is "node"`,
		},
		"a pool that gave nothing": {
			`metaData: {prefixesFromPool: [{key: a, name: other}]}`,
			"spec.metaData.prefixesFromPool[0]: no address was allocated from IPPool other",
		},
	}.check(t)
}

func TestErrorsOfLinks(t *testing.T) {
	t.Parallel()
	errorCases{
		"a link's interface": {
			`networkData: {links: {ethernets: [{type: phy, id: a, macAddress: {fromHostInterface: eth1}}]}}`,
			"spec.networkData.links.ethernets[0].macAddress.fromHostInterface: BareMetalHost h-1 has no interface eth1; it has eno1, eno2",
		},
		"an invalid MAC address": {
			`networkData: {links: {bonds: [{id: a, bondMode: balance-rr, macAddress: {string: "00:11"}}]}}`,
			`spec.networkData.links.bonds[0].macAddress.string: "00:11" is not a MAC address`,
		},
		"an annotation with no MAC address": {
			`networkData: {links: {bridges: [{id: a, macAddress: {fromAnnotation: {object: baremetalhost, annotation: example.com/no-mac}}}]}}`,
			`spec.networkData.links.bridges[0].macAddress.fromAnnotation: "eno1" is not a MAC address`,
		},
		"an annotation that is missing": {
			`networkData: {links: {vlans: [{id: a, vlanID: 1, vlanLink: b, macAddress: {fromAnnotation: {object: machine, annotation: mac}}}]}}`,
			"spec.networkData.links.vlans[0].macAddress.fromAnnotation: Machine m-1 has no annotation mac: set it",
		},
		"no MAC address at all": {
			`networkData: {links: {ethernets: [{type: phy, id: a}]}}`,
			"spec.networkData.links.ethernets[0].macAddress: set string, fromHostInterface or fromAnnotation",
		},
		"a parameter with a field of its own": {
			`networkData: {links: {bonds: [{id: a, bondMode: balance-rr, parameters: [{name: mode, value: 1}]}]}}`,
			"spec.networkData.links.bonds[0].parameters[0]: mode has a field of its own: use bondMode",
		},
	}.check(t)
}

func TestErrorsOfNetworks(t *testing.T) {
	t.Parallel()
	errorCases{
		"a network without a pool": {
			`networkData: {networks: {ipv4: [{id: a, link: b}]}}`,
			"spec.networkData.networks.ipv4[0]: no pool is named",
		},
		"a pool's annotation": {
			`networkData: {networks: {ipv6: [{id: a, link: b, fromPoolAnnotation: {object: metal3machine, annotation: pool}}]}}`,
			"spec.networkData.networks.ipv6[0].fromPoolAnnotation: Metal3Machine m3m-1 has no annotation pool: set it",
		},
		"an address of the other family": {
			`networkData: {networks: {ipv4: [{id: a, link: b, ipAddressFromIPPool: rack-6}]}}`,
			`spec.networkData.networks.ipv4[0]: "2001:db8::5" is not an IPv4 address`,
		},
		"a prefix that is too long": {
			`networkData: {networks: {ipv4DHCP: [{id: a, link: b, routes: [{network: 10.0.0.0, prefix: 33, gateway: {}}]}]}}`,
			"spec.networkData.networks.ipv4DHCP[0].routes[0].prefix: the prefix of an IPv4 network must be 0 to 32 bits long, not 33",
		},
		"a gateway's pool": {
			`networkData: {networks: {ipv6SLAAC: [{id: a, link: b, routes: [{network: "::", gateway: {fromIPPool: other}}]}]}}`,
			"spec.networkData.networks.ipv6SLAAC[0].routes[0].gateway: no address was allocated from IPPool other",
		},
		"a route's servers of DNS": {
			`networkData: {networks: {ipv6DHCP: [{id: a, link: b, routes: [{network: "::", gateway: {}, services: {dnsFromIPPool: other}}]}]}}`,
			"spec.networkData.networks.ipv6DHCP[0].routes[0].services.dnsFromIPPool: no address was allocated from IPPool other",
		},
		"the host's servers of DNS": {
			`networkData: {services: {dnsFromIPPool: other}}`,
			"spec.networkData.services.dnsFromIPPool: no address was allocated from IPPool other",
		},
	}.check(t)
}

func TestErrorsOfHostWithoutInspection(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	in := input()
	in.Host = render.Host{Object: render.Object{Name: "h-2"}}
	spec := template(t, []byte(`metaData: {fromHostInterfaces: [{key: a, fromBootMAC: true}]}`))
	_, err := render.MetaData(spec.MetaData, in)
	g.Expect(err).To(MatchError("spec.metaData.fromHostInterfaces[0].fromBootMAC: BareMetalHost h-2 has no spec.bootMACAddress: set it"))

	spec = template(t, []byte(`metaData: {fromHostInterfaces: [{key: a, interface: eno1}]}`))
	_, err = render.MetaData(spec.MetaData, in)
	g.Expect(err).To(MatchError(HaveSuffix("BareMetalHost h-2 has no interface eno1: inspection has found none")))
}
