// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"
)

func TestIndexDropsDeletedObjects(t *testing.T) {
	g := NewWithT(t)
	ix := NewIndex(NewRecords(nil))
	folder, vm := Ref{Type: "Folder", Value: "group-v1"}, Ref{Type: "VirtualMachine", Value: "vm-1"}
	update := func(kind types.ObjectUpdateKind, obj Ref, changes ...types.PropertyChange) Changes {
		return ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
			{Kind: kind, Obj: obj, ChangeSet: changes},
		}}}})
	}
	name := func(s string) types.PropertyChange { return types.PropertyChange{Name: "name", Val: s} }
	config := types.PropertyChange{Name: "summary.config", Val: types.VirtualMachineConfigSummary{InstanceUuid: "AA-BB", Uuid: "cc"}}

	g.Expect(update(types.ObjectUpdateKindEnter, folder, name("a%2fb")).Structural).To(BeTrue())
	g.Expect(update(types.ObjectUpdateKindModify, folder, name("a%2fb")).Structural).To(BeFalse(), "nothing has changed")
	g.Expect(ix.names).To(And(HaveKey("folder/a%2fb"), HaveKey("folder/a/b")))
	g.Expect(update(types.ObjectUpdateKindEnter, vm, name("one"), config).VMs).To(HaveLen(1))
	g.Expect(ix.Candidates("aa-bb", "", Ref{})).To(HaveLen(1), "UUIDs are compared without case")
	g.Expect(update(types.ObjectUpdateKindModify, vm, name("one")).VMs).To(BeEmpty(), "nothing has changed")
	g.Expect(update(types.ObjectUpdateKindModify, vm, name("two")).VMs).To(HaveLen(1))

	g.Expect(update(types.ObjectUpdateKindLeave, vm).VMs[0].Name).To(Equal("two"))
	update(types.ObjectUpdateKindLeave, folder)
	g.Expect(ix.names).To(BeEmpty())
	g.Expect(ix.instances).To(BeEmpty())
	g.Expect(ix.bios).To(BeEmpty())
	g.Expect(ix.Entities).To(BeEmpty())
	g.Expect(ix.VMs).To(BeEmpty())
}

func TestUnreadableVMKeepsUUIDs(t *testing.T) {
	for name, config := range map[string]types.AnyType{
		"no configuration":            nil,
		"a configuration without any": types.VirtualMachineConfigSummary{Name: "one"},
	} {
		for _, kind := range []types.ObjectUpdateKind{types.ObjectUpdateKindModify, types.ObjectUpdateKindEnter} {
			t.Run(name+", "+string(kind), func(t *testing.T) {
				g := NewWithT(t)
				ix := NewIndex(NewRecords(nil))
				vm := Ref{Type: "VirtualMachine", Value: "vm-1"}
				apply := func(kind types.ObjectUpdateKind, changes ...types.PropertyChange) {
					ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
						{Kind: kind, Obj: vm, ChangeSet: changes},
					}}}})
				}
				known := types.VirtualMachineConfigSummary{InstanceUuid: "aa", Uuid: "bb"}
				named := types.PropertyChange{Name: "name", Val: "one"}
				apply(types.ObjectUpdateKindEnter, named, types.PropertyChange{Name: "summary.config", Val: known})
				apply(kind, named, types.PropertyChange{Name: "summary.config", Val: config},
					types.PropertyChange{Name: "runtime.connectionState", Val: types.VirtualMachineConnectionStateInaccessible})

				found := ix.Candidates("aa", "", Ref{})
				g.Expect(found).To(HaveLen(1))
				g.Expect(found[0].BiosUUID).To(Equal("bb"))
				g.Expect(found[0].Connected()).To(BeFalse())
				apply(types.ObjectUpdateKindLeave)
				g.Expect(ix.instances).To(BeEmpty())
				g.Expect(ix.bios).To(BeEmpty())
			})
		}
	}
}

func TestRereadDropsDeletedObjects(t *testing.T) {
	g := NewWithT(t)
	ix := NewIndex(NewRecords(nil))
	folder, one, two := Ref{Type: "Folder", Value: "group-v1"}, Ref{Type: "VirtualMachine", Value: "vm-1"}, Ref{Type: "VirtualMachine", Value: "vm-2"}
	enter := func(obj Ref, changes ...types.PropertyChange) *types.UpdateSet {
		return &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{
			{Kind: types.ObjectUpdateKindEnter, Obj: obj, ChangeSet: changes},
		}}}}
	}
	pool := Ref{Type: "ResourcePool", Value: "resgroup-1"}
	for _, set := range []*types.UpdateSet{
		enter(folder, types.PropertyChange{Name: "name", Val: "f"}),
		enter(one, types.PropertyChange{Name: "name", Val: "one"}, types.PropertyChange{Name: "resourcePool", Val: pool}),
		enter(two, types.PropertyChange{Name: "name", Val: "two"}),
	} {
		ix.Apply(set)
	}
	again := enter(one, types.PropertyChange{Name: "name", Val: "one"})
	g.Expect(ix.Apply(again).VMs).To(HaveLen(1), "its pool has gone")
	g.Expect(ix.VMs[one].pool).To(BeZero())
	seen := map[Ref]struct{}{}
	ix.Note(seen, again)
	gone := ix.Sweep(seen)
	g.Expect(gone.Structural).To(BeTrue())
	g.Expect(ix.VMs).To(And(HaveLen(1), HaveKey(one)))
	g.Expect(ix.Entities).To(BeEmpty())
}

// crowd returns the index of a vCenter with n virtual machines, all in one group, and two templates.
func crowd(n int) (*Index, *types.UpdateSet) {
	ix := NewIndex(NewRecords(nil))
	folder, cluster := Ref{Type: "Folder", Value: "group-v1"}, Ref{Type: "ClusterComputeResource", Value: "domain-c1"}
	updates := []types.ObjectUpdate{{Kind: types.ObjectUpdateKindEnter, Obj: folder, ChangeSet: []types.PropertyChange{{Name: "name", Val: "vm"}}}}
	group := &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: "all"}}
	for i := range n {
		vm := Ref{Type: "VirtualMachine", Value: fmt.Sprintf("vm-%d", i)}
		group.Vm = append(group.Vm, vm)
		updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: vm, ChangeSet: []types.PropertyChange{
			{Name: "name", Val: vm.Value}, {Name: "parent", Val: folder},
			{Name: "summary.config", Val: types.VirtualMachineConfigSummary{InstanceUuid: vm.Value, Template: i < 2}},
		}})
	}
	updates = append(updates, types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: cluster, ChangeSet: []types.PropertyChange{
		{Name: "configurationEx", Val: types.ClusterConfigInfoEx{Group: []types.BaseClusterGroupInfo{group}}},
	}})
	return ix, &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: updates}}}
}

func TestGroupChangeReportsRemovedMemberOnly(t *testing.T) {
	g := NewWithT(t)
	ix, all := crowd(50)
	g.Expect(ix.Apply(all).VMs).To(HaveLen(50))
	cluster := all.FilterSet[0].ObjectSet[51]
	cluster.Kind = types.ObjectUpdateKindModify
	config := cluster.ChangeSet[0].Val.(types.ClusterConfigInfoEx)
	whole := config.Group[0].(*types.ClusterVmGroup)
	less := &types.ClusterVmGroup{ClusterGroupInfo: whole.ClusterGroupInfo, Vm: whole.Vm[1:]}
	for _, test := range []struct {
		group *types.ClusterVmGroup
		want  []string
	}{{less, []string{"vm-0"}}, {less, nil}, {whole, []string{"vm-0"}}} {
		cluster.ChangeSet[0].Val = types.ClusterConfigInfoEx{Group: []types.BaseClusterGroupInfo{test.group}}
		changed := ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{cluster}}}})
		var names []string
		for _, m := range changed.VMs {
			names = append(names, m.Name)
		}
		g.Expect(names).To(Equal(test.want))
		g.Expect(changed.Structural).To(BeFalse(), "who is in a group changes with every machine")
	}
	g.Expect(ix.InGroup(cluster.Obj, "all", whole.Vm[0])).To(BeTrue())
}

func BenchmarkInventoryWithALargeGroup(b *testing.B) {
	ix, all := crowd(20000)
	for b.Loop() {
		ix.Apply(all)
	}
}
