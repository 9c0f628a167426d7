// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"
)

// foreignVM returns an update of a virtual machine of another owner. No two updates share a string.
func foreignVM(i int) types.ObjectUpdate {
	fresh := strings.Clone
	at := func(kind, value string) Ref { return Ref{Type: fresh(kind), Value: fresh(value)} }
	values := map[string]types.AnyType{
		"name":   fmt.Sprintf("somebody-elses-%05d", i),
		"parent": at("Folder", fmt.Sprintf("group-v%d", i%20)),
		"summary.config": types.VirtualMachineConfigSummary{
			Name: fmt.Sprintf("somebody-elses-%05d", i), Annotation: strings.Repeat(fmt.Sprintf("backup %d of last night. ", i), 20),
			VmPathName:   fmt.Sprintf("[datastore-%d] somebody-elses-%05d/somebody-elses-%05d.vmx", i%10, i, i),
			InstanceUuid: fmt.Sprintf("50000000-0000-4000-8000-%012d", i), Uuid: fmt.Sprintf("42000000-0000-4000-8000-%012d", i),
		},
		"resourcePool":            at("ResourcePool", fmt.Sprintf("resgroup-%d", i%10)),
		"runtime.host":            at("HostSystem", fmt.Sprintf("host-%d", i%100)),
		"runtime.powerState":      types.VirtualMachinePowerState(fresh("poweredOn")),
		"runtime.connectionState": types.VirtualMachineConnectionState(fresh("connected")),
		"guest.net": types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{
			MacAddress: fmt.Sprintf("00:50:56:%02x:%02x:%02x", i>>16, i>>8&255, i&255), Network: fresh("VM Network"), Connected: true,
			IpAddress: []string{fmt.Sprintf("10.0.%d.%d", i>>8&255, i&255), fmt.Sprintf("fe80::%x", i)},
		}}},
		"guest.toolsRunningStatus": fresh("guestToolsRunning"),
		"config.changeVersion":     fmt.Sprintf("2026-11-22T18:42:30.%06dZ", i),
	}
	update := types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: at("VirtualMachine", fmt.Sprintf("vm-%d", i))}
	for _, property := range VMProperties() {
		if value, ok := values[property]; ok {
			update.ChangeSet = append(update.ChangeSet, types.PropertyChange{Name: fresh(property), Val: value})
		}
	}
	return update
}

// heap returns the bytes in use after garbage collection.
func heap() int64 {
	runtime.GC()
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int64(stats.HeapAlloc)
}

// TestForeignVMMemory reads twenty thousand virtual machines with two accounts. The limits apply to
// 64-bit systems.
func TestForeignVMMemory(t *testing.T) {
	const vms, firstAccount, otherAccount = 20000, 1200, 500
	g := NewWithT(t)
	shared := NewRecords(func(string) string { return "" })
	read := func() (*Index, int64) {
		before := heap()
		ix := NewIndex(shared)
		for i := range vms {
			ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: []types.ObjectUpdate{foreignVM(i)}}}})
		}
		return ix, (heap() - before) / vms
	}
	one, first := read()
	other, second := read()
	t.Logf("%d bytes for the first account, %d for the other", first, second)
	g.Expect(first).To(BeNumerically("<", firstAccount))
	g.Expect(second).To(BeNumerically("<", otherAccount))

	one.Close()
	g.Expect(shared.vms).To(HaveLen(vms), "the other has them still")
	other.Close()
	g.Expect(shared.vms).To(BeEmpty())
	g.Expect(shared.words).To(BeEmpty())
	g.Expect(one.VMs).To(HaveLen(vms), "who has the session of an account that logged out sees what it has shown")
}

// TestAccountSeesOwnStreamOnly has an account that may see one of two virtual machines.
func TestAccountSeesOwnStreamOnly(t *testing.T) {
	g := NewWithT(t)
	shared := NewRecords(nil)
	all, some := NewIndex(shared), NewIndex(shared)
	show := func(ix *Index, updates ...types.ObjectUpdate) {
		ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{ObjectSet: updates}}})
	}
	one, two := foreignVM(1), foreignVM(2)
	show(all, one, two)
	blind := foreignVM(1)
	blind.ChangeSet = blind.ChangeSet[:1]
	show(some, blind)
	uuid := func(i int) string { return fmt.Sprintf("50000000-0000-4000-8000-%012d", i) }
	g.Expect(all.Candidates(uuid(1), "", Ref{})).To(HaveLen(1))
	g.Expect(some.Candidates(uuid(1), "", Ref{})).To(BeEmpty())
	g.Expect(some.Candidates(uuid(2), "", two.Obj)).To(BeEmpty())
	g.Expect(some.Candidates("", "", one.Obj)).To(HaveLen(1))

	show(some, foreignVM(1))
	moved := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: one.Obj, ChangeSet: []types.PropertyChange{{Name: "name", Val: "renamed"}}}
	show(all, moved)
	g.Expect(some.VMs[one.Obj].Name).To(Equal("somebody-elses-00001"), "as last reported by its own stream")
	show(some, moved)
	g.Expect(some.VMs[one.Obj].record).To(BeIdenticalTo(all.VMs[one.Obj].record), "what is equal is kept once")
	show(all, types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: one.Obj})
	g.Expect(some.Candidates(uuid(1), "", Ref{})).To(HaveLen(1))
}

func TestDetailsOfOwnFilterOnly(t *testing.T) {
	g := NewWithT(t)
	ix := NewIndex(NewRecords(nil))
	inventory, following := Ref{Type: "PropertyFilter", Value: "1"}, Ref{Type: "PropertyFilter", Value: "2"}
	ix.SetDetailsFilter(following)
	vm := foreignVM(1).Obj
	show := func(filter Ref, kind types.ObjectUpdateKind, changed ...types.PropertyChange) Changes {
		return ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{Filter: filter, ObjectSet: []types.ObjectUpdate{
			{Kind: kind, Obj: vm, ChangeSet: changed},
		}}}})
	}
	nics := types.PropertyChange{Name: "guest.net", Val: types.ArrayOfGuestNicInfo{GuestNicInfo: []types.GuestNicInfo{{MacAddress: "00:50:56:00:00:01"}}}}
	version := types.PropertyChange{Name: "config.changeVersion", Val: "1"}
	entered := foreignVM(1)
	g.Expect(show(following, types.ObjectUpdateKindEnter, nics, version).VMs).To(BeEmpty(), "the inventory does not show it yet")
	g.Expect(show(inventory, types.ObjectUpdateKindEnter, entered.ChangeSet...).VMs).To(HaveLen(1))
	g.Expect(ix.Candidates("", "", vm)[0].Guest).To(HaveLen(1))
	g.Expect(show(following, types.ObjectUpdateKindEnter, nics, version).VMs).To(BeEmpty(), "nothing has changed")
	version.Val = "2"
	g.Expect(show(following, types.ObjectUpdateKindModify, version).VMs).To(BeEmpty(), "not news by itself")
	g.Expect(ix.VersionOf(vm)).To(HavePrefix("2"))
	g.Expect(show(following, types.ObjectUpdateKindModify, types.PropertyChange{Name: "guest.net"}).VMs).To(HaveLen(1))
	g.Expect(show(following, types.ObjectUpdateKindModify, nics).VMs).To(HaveLen(1))
	g.Expect(show(inventory, types.ObjectUpdateKindLeave).Gone).To(Equal([]Ref{vm}))
	show(inventory, types.ObjectUpdateKindEnter, entered.ChangeSet...)
	g.Expect(ix.Candidates("", "", vm)[0].Guest).To(HaveLen(1), "of its details none has changed")
	g.Expect(show(following, types.ObjectUpdateKindLeave).VMs).To(BeEmpty())
	g.Expect(ix.details).To(BeEmpty())
	g.Expect(ix.Candidates("", "", vm)).To(HaveLen(1), "it has left the view, not the vCenter")
}
