// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestClustersAreDatacentersOfOneRegion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	prepared, err := Provider{}.MultiCluster("")
	g.Expect(err).NotTo(HaveOccurred())
	t.Cleanup(prepared.Close)
	s := prepared.(*multiCluster)
	g.Expect(s.addDatacenter("seed-1", []string{"s1-a", "s1-b"})).To(Succeed())
	g.Expect(s.addDatacenter("seed-2", []string{"s2-a"})).To(Succeed())

	tags, err := s.vcenter.Tags()
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(tags).To(ConsistOf(
		simulator.Tag{Category: simulator.RegionCategory, Name: simulator.RegionTag, On: []string{"/seed-1", "/seed-2"}},
		simulator.Tag{Category: simulator.ZoneCategory, Name: "s1-a", On: []string{"/seed-1/host/s1-a"}},
		simulator.Tag{Category: simulator.ZoneCategory, Name: "s1-b", On: []string{"/seed-1/host/s1-b"}},
		simulator.Tag{Category: simulator.ZoneCategory, Name: "s2-a", On: []string{"/seed-2/host/s2-a"}},
	))
	g.Expect(s.vcenter.Templates()).To(HaveLen(2), "a template in each datacenter")
}
