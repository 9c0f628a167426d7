// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"slices"
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// reconfigure sets the VMs of the group.
func (c *client) reconfigure(cluster *object.ClusterComputeResource, group string, vms ...types.ManagedObjectReference) error {
	spec := &types.ClusterConfigSpecEx{GroupSpec: []types.ClusterGroupSpec{{
		ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
		Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: group}, Vm: vms},
	}}}
	task, err := cluster.Reconfigure(c.t.Context(), spec, true)
	if err != nil {
		return err
	}
	return task.Wait(c.t.Context())
}

func (c *client) join(cluster *object.ClusterComputeResource, group string, vms ...types.ManagedObjectReference) {
	c.t.Helper()
	must(0, c.reconfigure(cluster, group, vms...))(c.t)
}

func TestPowerOnFollowsRule(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.HostGroups())
	c := connect(t, s, "dc-1")
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "cluster-1"))(t)
	spec := c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared")
	for _, name := range []string{"b-1", "b-2", "c-1"} {
		vm := c.clone(name, spec)
		rack := "rack-" + name[:1]
		c.join(cluster, rack+"-vms", append(c.group(cluster, rack+"-vms"), vm.Reference())...)
		c.powerOn(vm)
		view, _ := s.VM(name)
		if want := []string{"host-" + name[:1] + "-1", "host-" + name[:1] + "-2"}; !slices.Contains(want, view.Host) || !slices.Equal(view.Groups, []string{rack + "-vms"}) {
			t.Errorf("%s is on %s in groups %q", name, view.Host, view.Groups)
		}
	}
}

// group returns the members of a group.
func (c *client) group(cluster *object.ClusterComputeResource, name string) []types.ManagedObjectReference {
	c.t.Helper()
	config := must(cluster.Configuration(c.t.Context()))(c.t)
	for _, info := range config.Group {
		if group, ok := info.(*types.ClusterVmGroup); ok && group.Name == name {
			return group.Vm
		}
	}
	return nil
}

func TestPowerOnWithoutAllowedHost(t *testing.T) {
	t.Parallel()
	layout := simulator.HostGroups()
	layout.Datacenters[0].Clusters[0].Rules[1].Mandatory = types.NewBool(false)
	s := simulator.Start(t, layout)
	c := connect(t, s, "dc-1")
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "cluster-1"))(t)
	spec := c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared")
	must(0, s.SetMaintenance("cluster-1", true, "host-a-1", "host-a-2", "host-b-1", "host-b-2"))(t)

	start := func(name, group string) error {
		vm := c.clone(name, spec)
		c.join(cluster, group, vm.Reference())
		return mustTask(t)(vm.PowerOn(t.Context())).Wait(t.Context())
	}
	if err := start("strict", "rack-a-vms"); !isFault(err, &types.NoCompatibleHost{}) {
		t.Errorf("mandatory rule without a host: error is %v", err)
	}
	if err := start("lenient", "rack-b-vms"); err != nil {
		t.Errorf("preferred rule without a host: error is %v", err)
	}
	if vm, _ := s.VM("lenient"); vm.Host != "host-c-1" && vm.Host != "host-c-2" {
		t.Errorf("it runs on %s", vm.Host)
	}
	if err := s.DisableRule("cluster-1", "rack-a", true); err != nil {
		t.Fatal(err)
	}
	strict := object.NewVirtualMachine(c.Client.Client, c.group(cluster, "rack-a-vms")[0])
	if err := mustTask(t)(strict.PowerOn(t.Context())).Wait(t.Context()); err != nil {
		t.Errorf("with a disabled rule: error is %v", err)
	}
}

func mustTask(t *testing.T) func(*object.Task, error) *object.Task {
	t.Helper()
	return func(task *object.Task, err error) *object.Task {
		t.Helper()
		return must(task, err)(t)
	}
}

func TestGroupsRejectVMsOfOtherClusters(t *testing.T) {
	t.Parallel()
	layout := simulator.HostGroups()
	layout.Datacenters[0].Clusters = append(layout.Datacenters[0].Clusters, simulator.Cluster{Name: "other", Hosts: []string{"other-1"}})
	s := simulator.Start(t, layout)
	c := connect(t, s, "dc-1")
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "cluster-1"))(t)
	stranger := c.clone("stranger", c.cloneSpec("/dc-1/host/other/Resources", "shared")).Reference()
	if err := c.reconfigure(cluster, "rack-a-vms", stranger); !isFault(err, &types.InvalidArgument{}) {
		t.Errorf("VM of another cluster: error is %v", err)
	}
	gone := types.ManagedObjectReference{Type: "VirtualMachine", Value: "vm-0"}
	if err := c.reconfigure(cluster, "rack-a-vms", gone); !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("VM that does not exist: error is %v", err)
	}
	if err := c.reconfigure(cluster, "no-such-group"); !isFault(err, &types.InvalidArgument{}) {
		t.Errorf("group that does not exist: error is %v", err)
	}
	if members := c.group(cluster, "rack-a-vms"); len(members) != 0 {
		t.Errorf("members are %v", members)
	}
	own := c.clone("own", c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared")).Reference()
	must(0, c.reconfigure(cluster, "rack-a-vms", own))(t)
	if members := must(s.GroupMembers("cluster-1"))(t); !slices.Equal(members["rack-a-vms"], []string{own.Value}) || len(members["rack-b-vms"]) != 0 {
		t.Errorf("members are %v", members)
	}
}

func TestMemberDeletedWhileItsGroupIsWritten(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.HostGroups())
	c := connect(t, s, "dc-1")
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "cluster-1"))(t)
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared")).Reference()
	s.HoldTasks("ReconfigureComputeResource_Task")
	written := make(chan error)
	go func() { written <- c.reconfigure(cluster, "rack-a-vms", vm) }()
	eventually(t, "the task runs", func() bool { return len(s.RunningTasks()) == 1 })
	must(0, s.DestroyVM("vm"))(t)
	s.ReleaseTasks("ReconfigureComputeResource_Task")
	if err := <-written; !isFault(err, &types.ManagedObjectNotFound{}) {
		t.Errorf("error is %v", err)
	}
	if members := must(s.GroupMembers("cluster-1"))(t); len(members["rack-a-vms"]) != 0 {
		t.Errorf("members are %v", members)
	}
}

func TestMoveVMToHost(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.HostGroups())
	c := connect(t, s, "dc-1")
	c.powerOn(c.clone("vm", c.cloneSpec("/dc-1/host/cluster-1/Resources", "shared")))
	must(0, s.MoveVMToHost("vm", "host-c-2"))(t)
	if vm, _ := s.VM("vm"); vm.Host != "host-c-2" {
		t.Errorf("VM is on %s", vm.Host)
	}
	if err := s.MoveVMToHost("vm", "host-x"); err == nil {
		t.Error("moved to a host that does not exist")
	}
}
