// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package v1beta1

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/shared/rules/rulestest"
)

func TestWireFormat(t *testing.T) {
	rulestest.WireFormat(t, AddToScheme, GroupVersion, "Harvester")
}

func TestAnUnspecifiedAddressIsNoEndpoint(t *testing.T) {
	g := NewWithT(t)
	g.Expect(APIEndpoint{}.IsSet()).To(BeFalse())
	g.Expect(APIEndpoint{Port: 6443}.IsSet()).To(BeFalse())
	g.Expect(APIEndpoint{Host: "0.0.0.0", Port: 6443}.IsSet()).To(BeFalse())
	g.Expect(APIEndpoint{Host: "::"}.IsSet()).To(BeFalse())
	g.Expect(APIEndpoint{Host: "10.0.0.1"}.IsSet()).To(BeTrue())
	g.Expect(APIEndpoint{Host: "api.example.com"}.IsSet()).To(BeTrue())
	g.Expect(APIEndpoint{Host: "2001:db8::1", Port: 6443}.String()).To(Equal("[2001:db8::1]:6443"))
}

func TestADomainIsTheZoneOfItsNameUnlessToldOtherwise(t *testing.T) {
	g := NewWithT(t)
	domain := HarvesterFailureDomain{Name: "a"}
	key, value := domain.Topology()
	g.Expect([]string{key, value}).To(Equal([]string{"topology.kubernetes.io/zone", "a"}))
	g.Expect(domain.ForControlPlane()).To(BeTrue())
	no := false
	domain.TopologyKey, domain.TopologyValue, domain.ControlPlane = "example.com/rack", "17", &no
	key, value = domain.Topology()
	g.Expect([]string{key, value}).To(Equal([]string{"example.com/rack", "17"}))
	g.Expect(domain.ForControlPlane()).To(BeFalse())

	spec := HarvesterClusterSpec{}
	g.Expect(spec.DiscoveryKey()).To(Equal("topology.kubernetes.io/zone"))
	spec.FailureDomainTopologyKey = "example.com/rack"
	g.Expect(spec.DiscoveryKey()).To(Equal("example.com/rack"))
}

func TestAListOfPoolsGoesBeforeASinglePool(t *testing.T) {
	g := NewWithT(t)
	config := VMNetworkConfig{}
	g.Expect(config.PoolRefs()).To(BeEmpty())
	config.IPPoolRef = "a"
	g.Expect(config.PoolRefs()).To(Equal([]string{"a"}))
	config.IPPoolRefs = []string{"b", "c"}
	g.Expect(config.PoolRefs()).To(Equal([]string{"b", "c"}))
}
