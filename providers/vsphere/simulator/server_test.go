// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"testing"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestCloneLandsWherePoolIs(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	for _, zone := range []string{"a", "b", "c"} {
		cluster := "zone-" + zone
		c.powerOn(c.clone("vm-"+zone, c.cloneSpec("/dc-1/host/"+cluster+"/Resources/workload", "datastore-"+zone)))
		vm, ok := s.VM("vm-" + zone)
		if !ok || vm.Cluster != cluster || vm.Datastore != "datastore-"+zone || vm.Pool != "/dc-1/host/"+cluster+"/Resources/workload" {
			t.Errorf("vm-%s is %+v", zone, vm)
		}
	}
	t.Logf("%+v", s.VMs())
	t.Logf("%+v", s.Calls())
}
