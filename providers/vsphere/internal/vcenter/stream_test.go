// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// reports waits for an event.
func (r *rig) reports(want vcenter.Event) {
	r.t.Helper()
	want.Server = r.server.Host()
	eventually(r.t, func() error {
		if len(r.matching(func(e vcenter.Event) bool { e.BiosUUID, e.VM = "", ""; return e == want })) == 0 {
			return fmt.Errorf("no event %+v", want)
		}
		return nil
	})
}

func TestChangesOfVirtualMachinesAreReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	bring(t, s, 1)
	changed := vcenter.Event{Kind: vcenter.VMChanged, InstanceUUID: uuid(1), Name: "vm-1"}
	vm, _ := byInstanceUUID(s, uuid(1))
	g.Expect(vm.ToolsRunning).To(BeTrue())
	g.Expect(vm.Connected()).To(BeTrue())

	for _, change := range []struct {
		name string
		do   func() error
		seen func(now vcenter.VM, there bool) bool
	}{
		{"powered off", func() error { return r.server.PowerOffVM("vm-1") }, func(now vcenter.VM, _ bool) bool {
			return now.Power == vcenter.PoweredOff
		}},
		{"moved to another host", func() error { return r.server.MoveVMToHost("vm-1", otherHost(vm.Host)) }, func(now vcenter.VM, _ bool) bool {
			return now.Host == otherHost(vm.Host)
		}},
		{"deleted", func() error { return r.server.DestroyVM("vm-1") }, func(_ vcenter.VM, there bool) bool { return !there }},
	} {
		r.forget()
		g.Expect(change.do()).To(Succeed(), change.name)
		eventually(t, func() error {
			if now, there := byInstanceUUID(s, uuid(1)); !change.seen(now, there) {
				return errors.New("not seen: " + change.name)
			}
			return nil
		})
		r.reports(changed)
	}
}

func otherHost(host string) string {
	if host == "zone-a-host-1" {
		return "zone-a-host-2"
	}
	return "zone-a-host-1"
}

func TestChangesOfTheInventoryAreReportedTogether(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	r.session()
	for name, change := range map[string]func() error{
		"host":      func() error { return r.server.DisconnectHosts("zone-a") },
		"datastore": func() error { return r.server.RemoveDatastore("dc-1", "datastore-b") },
		"network":   func() error { return r.server.RenameNetwork("dc-1", "network-c", "other") },
		"folder":    func() error { return r.server.Rename("/dc-1/vm/workload", "renamed") },
	} {
		r.forget()
		g.Expect(change()).To(Succeed(), name)
		r.reports(vcenter.Event{Kind: vcenter.InventoryChanged})
	}
}

func TestVMsAreNotInventoryChanges(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	r.forget()
	bring(t, s, 1)
	g.Consistently(func() int { return r.seen(vcenter.InventoryChanged) }).WithTimeout(600 * time.Millisecond).Should(BeZero())
}

func first(vms []vcenter.VM) (vcenter.VM, bool) {
	if len(vms) == 0 {
		return vcenter.VM{}, false
	}
	return vms[0], true
}

func TestLookupsFindSameVM(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, simulator.ThreeZones()).session()
	vm := clone(t, s, cloneSpec(t, s, 1))
	g.Expect(vm.Path).To(Equal("/dc-1/vm/workload/vm-1"))
	g.Expect(vm.Datacenter).To(Equal("/dc-1"))
	g.Expect(vm.Cluster).To(Equal("/dc-1/host/zone-a"))
	for name, find := range map[string]func() (vcenter.VM, bool){
		"BIOS UUID": func() (vcenter.VM, bool) { return first(s.Candidates("", vm.BiosUUID, "")) },
		"folder":    func() (vcenter.VM, bool) { return s.VMInFolder(vm.FolderRef, "vm-1") },
		"reference": func() (vcenter.VM, bool) { return s.VMByRef(vm.Ref) },
	} {
		found, ok := find()
		g.Expect(ok).To(BeTrue(), name)
		g.Expect(found.InstanceUUID).To(Equal(uuid(1)), name)
	}
	_, ok := s.VMInFolder(vm.FolderRef, "vm-2")
	g.Expect(ok).To(BeFalse())
}

func TestFailedTaskIsReported(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	s := r.session()
	vm := clone(t, s, cloneSpec(t, s, 1))
	r.server.FailTasks("PowerOnVM_Task", 1, "no more memory")

	task, err := s.PowerOn(t.Context(), vm.Ref)
	done := finish(t, s, task, err)
	g.Expect(done.State).To(Equal(vcenter.TaskError))
	g.Expect(done.Err).To(MatchError(vcenter.ErrTaskFailed))
	g.Expect(done.Err).To(MatchError(ContainSubstring("no more memory")))
	g.Expect(done.Entity).To(Equal(vm.Ref))
	r.reports(vcenter.Event{Kind: vcenter.TaskDone, Task: task, InstanceUUID: uuid(1), Name: "vm-1"})
}

func TestTaskStartedBeforeARestartIsFollowed(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	r := newRig(t, simulator.ThreeZones())
	before := r.session()
	r.server.HoldTasks("CloneVM_Task")
	task, err := before.CloneVM(t.Context(), cloneSpec(t, before, 1))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(r.pool.Close(t.Context())).To(Succeed())

	r.pool = newPool(t, r.recorder, time.Hour)
	after := r.session()
	now, err := after.LookupTask(t.Context(), task)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(now.Done()).To(BeFalse())
	_, ok := after.Task(task)
	g.Expect(ok).To(BeTrue(), "it is followed from now on")
	r.forget()
	r.server.ReleaseTasks("CloneVM_Task")
	r.reports(vcenter.Event{Kind: vcenter.TaskDone, Task: task, InstanceUUID: uuid(1), Name: "vm-1"})
	vm := present(t, after, uuid(1))
	done, err := after.LookupTask(t.Context(), task)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(done.State).To(Equal(vcenter.TaskSuccess))
	g.Expect(done.Result).To(Equal(vm.Ref))
}

func TestForgottenTaskIsNotFound(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := newRig(t, simulator.ThreeZones()).session()
	_, ok := s.Task("task-4711")
	g.Expect(ok).To(BeFalse())
	_, err := s.LookupTask(t.Context(), "task-4711")
	g.Expect(err).To(MatchError(vcenter.ErrNotFound))
}
