// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Without a role on the distributed switch the account cannot read its UUID, and vCenter rejects every clone onto its port
// groups.
func TestPortGroupOfUnreadableSwitch(t *testing.T) {
	dc, cluster, host := inventory.Ref{Type: "Datacenter", Value: "dc"}, inventory.Ref{Type: "ClusterComputeResource", Value: "c"}, inventory.Ref{Type: "HostSystem", Value: "h"}
	group, dvs := inventory.Ref{Type: "DistributedVirtualPortgroup", Value: "pg"}, inventory.Ref{Type: "VmwareDistributedVirtualSwitch", Value: "dvs"}
	property := func(name string, value types.AnyType) types.PropertyChange {
		return types.PropertyChange{Name: name, Op: types.PropertyChangeOpAssign, Val: value}
	}
	enter := func(r inventory.Ref, changes ...types.PropertyChange) types.ObjectUpdate {
		return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: r, ChangeSet: changes}
	}
	hosts := types.ArrayOfManagedObjectReference{ManagedObjectReference: []inventory.Ref{host}}
	shown := []types.ObjectUpdate{
		enter(dc, property("name", "dc-1")),
		enter(cluster, property("name", "cluster-1"), property("parent", dc), property("host", hosts)),
		enter(host, property("name", "host-1"), property("parent", cluster),
			property("runtime.connectionState", types.HostSystemConnectionStateConnected), property("runtime.inMaintenanceMode", false)),
		enter(group, property("name", "nodes"), property("parent", dc), property("key", "dvportgroup-1"), property("host", hosts)),
	}
	for name, test := range map[string]struct {
		with  []types.ObjectUpdate
		wants []inventory.ZoneReason
	}{
		"the port group does not tell its switch": {nil, []inventory.ZoneReason{inventory.NetworkNotFound}},
		"the switch is out of sight": {
			[]types.ObjectUpdate{enter(group, property("config.distributedVirtualSwitch", dvs))}, []inventory.ZoneReason{inventory.NetworkNotFound},
		},
		"the switch may be read": {
			[]types.ObjectUpdate{enter(group, property("config.distributedVirtualSwitch", dvs)), enter(dvs, property("uuid", "50 1f"))}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			index := inventory.NewIndex(inventory.NewRecords(nil))
			index.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: append(append([]types.ObjectUpdate{}, shown...), test.with...)}}})
			report, err := newZones(zoneOptions{Index: index}).Check(t.Context(), inventory.ZoneSpec{Placement: inventory.Placement{Datacenter: "dc-1", ComputeCluster: "cluster-1", Networks: []string{"nodes"}}})
			g.Expect(err).NotTo(HaveOccurred())
			var reasons []inventory.ZoneReason
			for _, problem := range report.Problems {
				reasons = append(reasons, problem.Reason)
				g.Expect(problem.Message).To(ContainSubstring("this account cannot read"))
			}
			g.Expect(reasons).To(Equal(test.wants), "%v", report.Problems)
		})
	}
}
