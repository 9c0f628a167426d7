// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"maps"
	"sync"
	"testing"

	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/view"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// stream watches the inventory as a client does: one collector, one long poll after the other.
type stream struct {
	mu    sync.Mutex
	state map[types.ManagedObjectReference]map[string]types.AnyType
	left  map[types.ManagedObjectReference]bool
	err   error
	ended chan struct{}
}

func (c *client) follow(pathSet map[string][]string) *stream {
	c.t.Helper()
	kinds := []string{"ManagedEntity"}
	v := must(view.NewManager(c.Client.Client).CreateContainerView(c.t.Context(), c.ServiceContent.RootFolder, kinds, true))(c.t)
	pc := must(property.DefaultCollector(c.Client.Client).Create(c.t.Context()))(c.t)
	filter := &property.WaitFilter{}
	filter.Spec.ObjectSet = []types.ObjectSpec{{Obj: v.Reference(), Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{v.TraversalSpec()}}}
	for kind, paths := range pathSet {
		filter.Spec.PropSet = append(filter.Spec.PropSet, types.PropertySpec{Type: kind, PathSet: paths})
	}
	s := &stream{
		state: map[types.ManagedObjectReference]map[string]types.AnyType{},
		left:  map[types.ManagedObjectReference]bool{}, ended: make(chan struct{}),
	}
	go func() {
		defer close(s.ended)
		err := property.WaitForUpdatesEx(c.t.Context(), pc, filter, func(updates []types.ObjectUpdate) bool { s.apply(updates); return false })
		s.mu.Lock()
		defer s.mu.Unlock()
		s.err = err
	}()
	return s
}

func (s *stream) apply(updates []types.ObjectUpdate) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, update := range updates {
		if update.Kind == types.ObjectUpdateKindLeave {
			delete(s.state, update.Obj)
			s.left[update.Obj] = true
			continue
		}
		if s.state[update.Obj] == nil {
			s.state[update.Obj] = map[string]types.AnyType{}
		}
		for _, change := range update.ChangeSet {
			s.state[update.Obj][change.Name] = change.Val
		}
	}
}

func (s *stream) get(ref types.ManagedObjectReference) map[string]types.AnyType {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.state[ref])
}

// ever reports whether an object is or was visible.
func (s *stream) ever(ref types.ManagedObjectReference) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state[ref] != nil || s.left[ref]
}

func (s *stream) count(kind string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for ref := range s.state {
		if ref.Type == kind {
			n++
		}
	}
	return n
}

func TestStreamReportsVMLifecycle(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.HostGroups())
	c, watcher := connect(t, s, "dc-1"), connect(t, s, "")
	st := watcher.follow(map[string][]string{
		"VirtualMachine": {"name", "config.instanceUuid", "runtime.host", "runtime.powerState", "guest.net", "guest.toolsRunningStatus"},
		"ManagedEntity":  {"name", "parent"},
	})
	eventually(t, "the inventory is listed", func() bool { return st.count("HostSystem") == 6 && st.count("VirtualMachine") == 1 })

	vm := c.clone("vm", c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared"))
	ref := vm.Reference()
	eventually(t, "the clone is complete", func() bool {
		seen := st.get(ref)
		view, _ := s.VM("vm")
		return seen["name"] == "vm" && seen["config.instanceUuid"] == view.InstanceUUID && seen["runtime.host"] != nil &&
			seen["runtime.powerState"] == types.VirtualMachinePowerStatePoweredOff
	})
	c.powerOn(vm)
	eventually(t, "the guest reports its address", func() bool {
		nics, _ := st.get(ref)["guest.net"].(types.ArrayOfGuestNicInfo)
		return len(nics.GuestNicInfo) == 1 && len(nics.GuestNicInfo[0].IpAddress) > 0 && st.get(ref)["guest.toolsRunningStatus"] == "guestToolsRunning"
	})
	must(0, s.PowerOffVM("vm"))(t)
	eventually(t, "the guest is silent", func() bool {
		nics, _ := st.get(ref)["guest.net"].(types.ArrayOfGuestNicInfo)
		return len(nics.GuestNicInfo) == 0 && st.get(ref)["guest.toolsRunningStatus"] == "guestToolsNotRunning"
	})
	must(0, s.DestroyVM("vm"))(t)
	eventually(t, "the VM has left", func() bool { st.mu.Lock(); defer st.mu.Unlock(); return st.left[ref] })
}

func TestStreamReportsGroupsAndRules(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.HostGroups())
	c := connect(t, s, "dc-1")
	st := c.follow(map[string][]string{"ClusterComputeResource": {"configurationEx"}})
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "cluster-1"))(t)
	config := func() types.ClusterConfigInfoEx {
		config, _ := st.get(cluster.Reference())["configurationEx"].(types.ClusterConfigInfoEx)
		return config
	}
	eventually(t, "groups are listed", func() bool { return len(config().Group) == 6 && len(config().Rule) == 3 })

	vm := c.clone("vm", c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared")).Reference()
	c.join(cluster, "rack-b-vms", vm)
	members := func() int {
		for _, info := range config().Group {
			if group, ok := info.(*types.ClusterVmGroup); ok && group.Name == "rack-b-vms" {
				return len(group.Vm)
			}
		}
		return -1
	}
	eventually(t, "the VM is in the group", func() bool { return members() == 1 })
	must(0, s.DisableRule("cluster-1", "rack-b", true))(t)
	eventually(t, "the rule is off", func() bool {
		for _, info := range config().Rule {
			if rule := info.GetClusterRuleInfo(); rule.Name == "rack-b" {
				return rule.Enabled != nil && !*rule.Enabled
			}
		}
		return false
	})
	must(0, s.DestroyVM("vm"))(t)
	eventually(t, "the VM has left the group", func() bool { return members() == 0 })
	must(0, s.RemoveGroup("cluster-1", "rack-b-vms"))(t)
	eventually(t, "the group is removed", func() bool { return members() == -1 })
}

// followTasks watches the tasks in a property of an object.
func (c *client) followTasks(list types.ManagedObjectReference, path string) *stream {
	c.t.Helper()
	return c.followListed(list, path, types.PropertySpec{Type: "Task", PathSet: []string{"info"}})
}

// followListed watches the objects in a property of an object.
func (c *client) followListed(list types.ManagedObjectReference, path string, show types.PropertySpec) *stream {
	c.t.Helper()
	pc := must(property.DefaultCollector(c.Client.Client).Create(c.t.Context()))(c.t)
	must(pc.CreateFilter(c.t.Context(), types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: list, Skip: types.NewBool(true),
			SelectSet: []types.BaseSelectionSpec{&types.TraversalSpec{Type: list.Type, Path: path}},
		}},
		PropSet: []types.PropertySpec{show},
	}}))(c.t)
	st := &stream{state: map[types.ManagedObjectReference]map[string]types.AnyType{}, left: map[types.ManagedObjectReference]bool{}}
	go func() {
		version := ""
		for {
			res, err := methods.WaitForUpdatesEx(c.t.Context(), c.Client.Client, &types.WaitForUpdatesEx{This: pc.Reference(), Version: version})
			if err != nil {
				return
			}
			version = res.Returnval.Version
			for _, set := range res.Returnval.FilterSet {
				st.apply(set.ObjectSet)
			}
		}
	}()
	return st
}

func (s *stream) taskState(ref types.ManagedObjectReference) types.TaskInfoState {
	info, _ := s.get(ref)["info"].(types.TaskInfo)
	return info.State
}

// Clients also watch the task list.
func TestStreamReportsTasks(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	st := c.followTasks(*c.ServiceContent.TaskManager, "recentTask")
	state := st.taskState
	s.HoldTasks("CloneVM_Task")
	s.FailTasks("CloneVM_Task", 1, "no")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	failing, working := c.startClone("a", spec).Reference(), c.startClone("b", spec).Reference()
	eventually(t, "both run", func() bool {
		return state(failing) == types.TaskInfoStateRunning && state(working) == types.TaskInfoStateRunning
	})
	s.ReleaseTasks("CloneVM_Task")
	eventually(t, "both end", func() bool {
		return state(failing) == types.TaskInfoStateError && state(working) == types.TaskInfoStateSuccess
	})
	info := st.get(failing)["info"].(types.TaskInfo)
	if info.Error.LocalizedMessage != "no" || info.Name != "CloneVM_Task" {
		t.Errorf("failed task is %+v", info)
	}
}

// More objects than fit in one response are delivered in several.
func TestStreamInPages(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeZones()
	for i := range 60 {
		layout.Datacenters[0].Folders = append(layout.Datacenters[0].Folders, "many/"+string(rune('A'+i%26))+string(rune('a'+i/26)))
	}
	s := simulator.Start(t, layout)
	c := connect(t, s, "")
	st := c.follow(map[string][]string{"ManagedEntity": {"name"}})
	eventually(t, "all are listed", func() bool { return st.count("Folder") >= 60 && st.count("HostSystem") == 6 })
	if n := s.Calls()["WaitForUpdatesEx"]; n < 1 {
		t.Errorf("%d calls", n)
	}
}

// A client that relies on the list of recent tasks receives none; a client with its own list receives all in it.
func TestRecentTasksMayBeSilent(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones(), simulator.WithSilentRecentTasks())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	list := must(view.NewManager(c.Client.Client).CreateListView(t.Context(), nil))(t)
	recent, own := c.followTasks(*c.ServiceContent.TaskManager, "recentTask"), c.followTasks(list.Reference(), "view")
	eventually(t, "both streams wait", func() bool { return s.Calls()["WaitForUpdatesEx"] == 4 })

	s.HoldTasks("CloneVM_Task")
	task := c.startClone("a", spec).Reference()
	must(list.Add(t.Context(), []types.ManagedObjectReference{task}))(t)
	eventually(t, "the task runs", func() bool { return own.taskState(task) == types.TaskInfoStateRunning })
	s.ReleaseTasks("CloneVM_Task")
	eventually(t, "the task has ended", func() bool { return own.taskState(task) == types.TaskInfoStateSuccess })
	must(list.Remove(t.Context(), []types.ManagedObjectReference{task}))(t)
	eventually(t, "the task has left the list", func() bool { return own.count("Task") == 0 })
	if state := recent.taskState(task); state != "" {
		t.Errorf("the recent task is reported to be %s", state)
	}
}

// vcsim's own collector can be used, too. It does not outlive its client's connection.
func TestStockCollectorEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones(), simulator.WithStockCollector())
	c := connect(t, s, "dc-1")
	st := c.follow(map[string][]string{"VirtualMachine": {"name"}})
	eventually(t, "the template is listed", func() bool { return st.count("VirtualMachine") == 1 })
	template := c.template().Reference()
	must(0, s.Rename("/dc-1/vm/templates/ubuntu-2404", "renamed"))(t)
	eventually(t, "the change arrives", func() bool { return st.get(template)["name"] == "renamed" })
	s.Close() // waits for pending calls
}

// An idle stream is a single pending call.
func TestIdleStreamMakesNoCalls(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "")
	st := c.follow(map[string][]string{"VirtualMachine": {"name"}})
	eventually(t, "the template is listed", func() bool { return st.count("VirtualMachine") == 1 })
	eventually(t, "the stream waits", func() bool { return s.Calls()["WaitForUpdatesEx"] == 2 })
	must(0, s.SetMaintenance("zone-a", true))(t) // not selected by the stream
	must(0, s.Rename("/dc-1/vm/templates/ubuntu-2404", "renamed"))(t)
	eventually(t, "the change arrives", func() bool {
		st.mu.Lock()
		defer st.mu.Unlock()
		for _, seen := range st.state {
			if seen["name"] == "renamed" {
				return true
			}
		}
		return false
	})
	eventually(t, "the stream waits again", func() bool { return s.Calls()["WaitForUpdatesEx"] == 3 })
}

// A client that aborts its wait leaves no pending wait in the server, and loses no update in its next call.
func TestWaitIsBoundToItsConnection(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	pc := must(property.DefaultCollector(c.Client.Client).Create(t.Context()))(t)
	template := c.template().Reference()
	must(pc.CreateFilter(t.Context(), types.CreateFilter{Spec: types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{Obj: template}},
		PropSet:   []types.PropertySpec{{Type: "VirtualMachine", PathSet: []string{"name"}}},
	}}))(t)
	wait := func(ctx context.Context, version string) (*types.UpdateSet, error) {
		res, err := methods.WaitForUpdatesEx(ctx, c.Client.Client, &types.WaitForUpdatesEx{This: pc.Reference(), Version: version})
		if err != nil {
			return nil, err
		}
		return res.Returnval, nil
	}
	first := must(wait(t.Context(), ""))(t)
	for range 3 {
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		calls := s.Calls()["WaitForUpdatesEx"]
		go func() { _, err := wait(ctx, first.Version); ended <- err }()
		eventually(t, "the wait has begun", func() bool { return s.Calls()["WaitForUpdatesEx"] > calls })
		cancel()
		if <-ended == nil {
			t.Fatal("the wait ended by itself")
		}
	}
	must(0, s.Rename("/dc-1/vm/templates/ubuntu-2404", "renamed"))(t)
	second := must(wait(t.Context(), first.Version))(t)
	if again := must(wait(t.Context(), first.Version))(t); again.Version != second.Version {
		t.Errorf("repeated requests for %s return %s and then %s", first.Version, second.Version, again.Version)
	}
	change := second.FilterSet[0].ObjectSet[0].ChangeSet
	if len(change) != 1 || change[0].Val != "renamed" {
		t.Errorf("update is %+v", change)
	}
}
