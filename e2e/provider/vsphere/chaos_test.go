// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// Zones of the same names exist on all vCenters of the chaos tests.
func TestVMOnAnotherVCenterIsMisplaced(t *testing.T) {
	g := NewWithT(t)
	first, second := &simulator.Server{}, &simulator.Server{}
	v := &target{vcenters: []*simulator.Server{first, second}, zones: []string{"rack-a", ownCluster}}
	for _, vm := range []simulator.VM{{Cluster: ownCluster}, {Cluster: rackCluster, Groups: []string{"rack-a-vms"}}} {
		on, other := second, first
		if vm.Cluster == rackCluster {
			on, other = first, second
		}
		g.Expect(v.zones).To(ContainElement(v.domainOf(located{VM: vm, vcenter: on})))
		g.Expect(v.zones).NotTo(ContainElement(v.domainOf(located{VM: vm, vcenter: other})))
	}
	g.Expect(v.domainOf(located{VM: simulator.VM{Cluster: rackCluster}, vcenter: second})).To(BeEmpty(), "it has not joined its group yet")
}
