// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func isFault(err error, want types.BaseMethodFault) bool {
	return err != nil && fault.Is(err, want)
}

func (c *client) taskInfo(task *object.Task) types.TaskInfo {
	c.t.Helper()
	var t mo.Task
	must(0, task.Properties(c.t.Context(), task.Reference(), []string{"info"}, &t))(c.t)
	return t.Info
}

// A held task has no effect, and its objects can be read and used by others in the meantime.
func TestHeldTask(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")

	s.HoldTasks("CloneVM_Task")
	first, second := c.startClone("first", spec), c.startClone("second", spec)
	if info := c.taskInfo(first); info.State != types.TaskInfoStateRunning || info.Name != "CloneVM_Task" || *info.Entity != c.template().Reference() {
		t.Errorf("held task is %+v", info)
	}
	must(c.template().Device(t.Context()))(t)
	if running := s.RunningTasks(); len(running) != 2 || !strings.HasPrefix(running[0], "CloneVM_Task task-") {
		t.Errorf("running: %v", running)
	}
	if n := len(s.VMs()); n != 0 {
		t.Errorf("%d VMs while the clones are held", n)
	}
	s.ReleaseTasks("CloneVM_Task")
	must(0, first.Wait(t.Context()))(t)
	must(0, second.Wait(t.Context()))(t)
	vm := c.clone("third", spec)

	s.HoldTasks("PowerOnVM_Task")
	on := must(vm.PowerOn(t.Context()))(t)
	if state := must(vm.PowerState(t.Context()))(t); state != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("VM is %s while power on is held", state)
	}
	s.ReleaseTasks("PowerOnVM_Task")
	must(0, on.Wait(t.Context()))(t)
	must(0, must(vm.PowerOff(t.Context()))(t).Wait(t.Context()))(t)

	s.HoldTasks("Destroy_Task")
	destroy := must(vm.Destroy(t.Context()))(t)
	if _, ok := s.VM("third"); !ok {
		t.Error("the VM was deleted while its deletion is held")
	}
	s.ReleaseTasks("Destroy_Task")
	must(0, destroy.Wait(t.Context()))(t)
	if _, ok := s.VM("third"); ok {
		t.Error("the VM exists after its deletion")
	}
}

// The object of a held task may be deleted in the meantime.
func TestHeldTaskOfDeletedObject(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	s.HoldTasks(simulator.AllTasks)
	on := must(vm.PowerOn(t.Context()))(t)
	must(0, s.DestroyVM("vm"))(t)
	s.ReleaseTasks(simulator.AllTasks)
	if err := on.Wait(t.Context()); !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("error is %v", err)
	}
}

func TestCloseWithHeldTask(t *testing.T) {
	t.Parallel()
	s := must(simulator.New(simulator.ThreeZones()))(t)
	c := connect(t, s, "dc-1")
	s.HoldTasks("CloneVM_Task")
	c.startClone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	s.Close()
	s.Close()
	if _, err := methods.GetCurrentTime(t.Context(), c.Client.Client); err == nil {
		t.Error("a closed server responds")
	}
}

func TestFailedTasks(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")

	s.FailTasks("CloneVM_Task", 2, "the storage array has failed")
	for range 2 {
		if err := c.startClone("vm", spec).Wait(t.Context()); err == nil || err.Error() != "the storage array has failed" {
			t.Errorf("error is %v", err)
		}
	}
	vm := c.clone("vm", spec)

	s.FailTasksWith("PowerOnVM_Task", -1, &types.InsufficientResourcesFault{})
	for range 3 {
		err := must(vm.PowerOn(t.Context()))(t).Wait(t.Context())
		if !isFault(err, &types.InsufficientResourcesFault{}) || strings.Contains(err.Error(), "*types.") {
			t.Errorf("error is %v", err)
		}
	}
	s.FailTasks("PowerOnVM_Task", 0, "")
	c.powerOn(vm)
}

func TestDelayedTask(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	s.DelayTasks("CloneVM_Task", 150*time.Millisecond)
	start := time.Now()
	c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	if took := time.Since(start); took < 150*time.Millisecond {
		t.Errorf("took %s", took)
	}
}

func TestDestroyOfPoweredOnVM(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	c.powerOn(vm)
	err := must(vm.Destroy(t.Context()))(t).Wait(t.Context())
	if !isFault(err, &types.InvalidPowerState{}) || !strings.Contains(err.Error(), "(Powered on)") {
		t.Errorf("error is %v", err)
	}
	if _, ok := s.VM("vm"); !ok {
		t.Error("the VM was deleted")
	}
}

// Tasks continue after the session that started them has ended.
func TestTaskContinuesAfterItsSession(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	s.HoldTasks("CloneVM_Task")
	ref := c.startClone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")).Reference()
	s.ExpireSessions()
	again := connect(t, s, "dc-1")
	task := object.NewTask(again.Client.Client, ref)
	if info := again.taskInfo(task); info.State != types.TaskInfoStateRunning {
		t.Errorf("task is %s", info.State)
	}
	s.ReleaseTasks("CloneVM_Task")
	if err := task.Wait(t.Context()); err != nil {
		t.Errorf("task ended with %v", err)
	}
	if _, ok := s.VM("vm"); !ok {
		t.Error("the VM does not exist")
	}
}

func TestForgottenTasks(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	ended := c.startClone("ended", spec)
	must(0, ended.Wait(t.Context()))(t)
	s.HoldTasks("CloneVM_Task")
	running := c.startClone("running", spec)

	s.ForgetTasks()
	var info mo.Task
	err := ended.Properties(t.Context(), ended.Reference(), []string{"info"}, &info)
	if !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("the task that ended: error is %v", err)
	}
	var manager mo.TaskManager
	pc := property.DefaultCollector(c.Client.Client)
	must(0, pc.RetrieveOne(t.Context(), *c.ServiceContent.TaskManager, []string{"recentTask"}, &manager))(t)
	if len(manager.RecentTask) != 1 || manager.RecentTask[0] != running.Reference() {
		t.Errorf("recent tasks are %v", manager.RecentTask)
	}
	s.ReleaseTasks("CloneVM_Task")
	must(0, running.Wait(t.Context()))(t)
}
