// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/property"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestRemovedDatastore(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	st := connect(t, s, "").follow(map[string][]string{
		"Datastore": {"name"}, "ClusterComputeResource": {"name", "datastore"},
	})
	spec := c.cloneSpec("/dc-1/host/zone-b/Resources", "datastore-b")
	off, running := c.clone("off", spec), c.clone("running", spec)
	c.powerOn(running)
	cluster := must(c.finder.ClusterComputeResource(t.Context(), "zone-b"))(t).Reference()
	eventually(t, "everything is listed", func() bool { return st.count("Datastore") == 4 && len(st.datastores(cluster)) == 2 })

	must(0, s.RemoveDatastore("dc-1", "datastore-b"))(t)
	eventually(t, "the stream reports it", func() bool { return st.count("Datastore") == 3 && len(st.datastores(cluster)) == 1 })
	if _, err := c.finder.Datastore(t.Context(), "datastore-b"); err == nil {
		t.Error("the datastore is found")
	}
	if names := c.reachable(cluster); slices.Contains(names, "datastore-b") {
		t.Errorf("the cluster reaches %q", names)
	}
	if err := c.startClone("vm", spec).Wait(t.Context()); !isFault(err, &types.InvalidDatastore{}) {
		t.Errorf("clone: error is %v", err)
	}
	if err := mustTask(t)(off.PowerOn(t.Context())).Wait(t.Context()); !isFault(err, &types.NoCompatibleHost{}) {
		t.Errorf("power on: error is %v", err)
	}
	if vm, _ := s.VM("running"); vm.Power != "poweredOn" || vm.Datastore != "datastore-b" {
		t.Errorf("the running VM is %+v", vm)
	}
	must(0, mustTask(t)(running.PowerOff(t.Context())).Wait(t.Context()))(t)
	must(0, mustTask(t)(running.Destroy(t.Context())).Wait(t.Context()))(t)
	if err := s.RemoveDatastore("dc-1", "datastore-b"); err == nil {
		t.Error("removed twice")
	}

	must(0, s.RestoreDatastore("dc-1", "datastore-b"))(t)
	eventually(t, "the stream reports it", func() bool { return st.count("Datastore") == 4 && len(st.datastores(cluster)) == 2 })
	c.powerOn(off)
	c.clone("vm", c.cloneSpec("/dc-1/host/zone-b/Resources", "datastore-b"))
	if err := s.RestoreDatastore("dc-1", "datastore-b"); err == nil {
		t.Error("restored twice")
	}
}

func (s *stream) datastores(ref types.ManagedObjectReference) []types.ManagedObjectReference {
	refs, _ := s.get(ref)["datastore"].(types.ArrayOfManagedObjectReference)
	return refs.ManagedObjectReference
}

func TestDisconnectedHosts(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	st := connect(t, s, "").follow(map[string][]string{
		"HostSystem": {"runtime.connectionState"}, "VirtualMachine": {"runtime.connectionState"},
	})
	spec := c.cloneSpec("/dc-1/host/zone-b/Resources", "datastore-b")
	vm := c.clone("vm", spec)
	must(0, s.DisconnectHosts("zone-b"))(t)
	host := must(c.finder.HostSystem(t.Context(), "zone-b/zone-b-host-1"))(t).Reference()
	eventually(t, "the stream reports it", func() bool {
		return st.get(host)["runtime.connectionState"] == types.HostSystemConnectionStateDisconnected &&
			st.get(vm.Reference())["runtime.connectionState"] == types.VirtualMachineConnectionStateDisconnected
	})
	if err := c.startClone("other", spec).Wait(t.Context()); !isFault(err, &types.NoCompatibleHost{}) {
		t.Errorf("clone: error is %v", err)
	}
	for what, start := range map[string]func() (*object.Task, error){
		"power on": func() (*object.Task, error) { return vm.PowerOn(t.Context()) },
		"destroy":  func() (*object.Task, error) { return vm.Destroy(t.Context()) },
		"reconfigure": func() (*object.Task, error) {
			return vm.Reconfigure(t.Context(), types.VirtualMachineConfigSpec{Annotation: "x"})
		},
	} {
		if err := mustTask(t)(start()).Wait(t.Context()); !isFault(err, &types.HostNotConnected{}) {
			t.Errorf("%s: error is %v", what, err)
		}
	}
	must(0, s.ReconnectHosts("/dc-1/host/zone-b"))(t)
	c.powerOn(vm)
	if err := s.DisconnectHosts("zone-x"); err == nil {
		t.Error("disconnected the hosts of a cluster that does not exist")
	}
	if err := s.DisconnectHosts("zone-a", "zone-b-host-1"); err == nil {
		t.Error("disconnected a host of another cluster")
	}
}

// One host is left: all VMs are placed there.
func TestMaintenanceLeavesOtherHosts(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	var vms []*object.VirtualMachine
	for _, name := range []string{"a", "b"} {
		vms = append(vms, c.clone(name, spec))
	}
	must(0, s.SetMaintenance("zone-a", true, "zone-a-host-1"))(t)
	c.clone("c", spec)
	for _, vm := range vms {
		c.powerOn(vm)
	}
	for _, vm := range s.VMs() {
		if vm.Host != "zone-a-host-2" {
			t.Errorf("%s is on %s", vm.Name, vm.Host)
		}
	}
}

func TestRenamedNetwork(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeZones()
	layout.Datacenters[0].Networks = append(layout.Datacenters[0].Networks, simulator.Network{Name: "portgroup", Distributed: true})
	s := simulator.Start(t, layout)
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	c.clone("before", spec)
	must(0, s.RenameNetwork("dc-1", simulator.NetworkName, "LAN"))(t)
	must(0, s.RenameNetwork("dc-1", "portgroup", "other"))(t)
	for _, name := range []string{simulator.NetworkName, "portgroup"} {
		if _, err := c.finder.Network(t.Context(), name); err == nil {
			t.Errorf("%s is found", name)
		}
	}
	must(c.finder.Network(t.Context(), "LAN"))(t)
	must(c.finder.Network(t.Context(), "other"))(t)
	c.clone("after", spec) // the template's card follows the rename
	for _, vm := range s.VMs() {
		if !slices.Equal(vm.Networks, []string{"LAN"}) {
			t.Errorf("%s is on %q", vm.Name, vm.Networks)
		}
	}
	if err := s.RenameNetwork("dc-1", "portgroup", "x"); err == nil {
		t.Error("renamed a network that does not exist")
	}
}

// Changes by other actors are not affected by held and failing tasks.
func TestChangesByOtherActors(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	c.powerOn(vm)
	s.HoldTasks(simulator.AllTasks)
	s.FailTasks(simulator.AllTasks, -1, "no")
	must(0, s.PowerOffVM(vm.Reference().Value))(t)
	if state := must(vm.PowerState(t.Context()))(t); state != types.VirtualMachinePowerStatePoweredOff {
		t.Errorf("VM is %s", state)
	}
	if err := s.PowerOffVM("vm"); err == nil {
		t.Error("powered off twice")
	}
	must(0, s.DestroyVM("/dc-1/vm/workload/vm"))(t)
	must(0, s.DestroyVM(simulator.TemplateName))(t)
	if len(s.VMs())+len(s.Templates()) != 0 {
		t.Errorf("left are %+v %+v", s.VMs(), s.Templates())
	}
	for _, name := range []string{"vm", "vm-0", "/dc-1/vm/vm", "/dc-1/host/zone-a"} {
		if err := s.DestroyVM(name); err == nil {
			t.Errorf("destroyed %s", name)
		}
	}
}

// The tags of a VM are detached when it is destroyed.
func TestTagsOfDestroyedVM(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	c.powerOn(c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")))
	must(0, s.AttachTag("zone-a", "/dc-1/vm/workload/vm"))(t)
	id := must(s.TagID("zone-a"))(t)
	if vm, _ := s.VM("vm"); !slices.Equal(vm.TagIDs, []string{id}) {
		t.Errorf("tags are %q", vm.TagIDs)
	}
	must(0, s.DestroyVM("vm"))(t)
	if vms := s.VMs(); len(vms) != 0 {
		t.Errorf("left are %+v", vms)
	}
	var dc mo.Datacenter
	finder := must(c.finder.Datacenter(t.Context(), "dc-1"))(t)
	must(0, finder.Properties(t.Context(), finder.Reference(), []string{"datastore"}, &dc))(t)
	if len(dc.Datastore) != 4 {
		t.Errorf("%d datastores", len(dc.Datastore))
	}
}

// Other clients must observe that a client has put a host into maintenance mode.
func TestMaintenanceModeOfAClientIsReported(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	host := must(c.finder.HostSystem(t.Context(), "zone-b/zone-b-host-1"))(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var seen []bool
	err := property.Wait(ctx, property.DefaultCollector(c.Client.Client), host.Reference(), []string{"runtime.inMaintenanceMode"},
		func(changes []types.PropertyChange) bool {
			seen = append(seen, changes[0].Val.(bool))
			if len(seen) == 1 {
				task := must(host.EnterMaintenanceMode(ctx, 0, false, nil))(t)
				if err := task.Wait(ctx); err != nil {
					t.Fatal(err)
				}
			}
			return len(seen) == 2
		})
	if err != nil || !slices.Equal(seen, []bool{false, true}) {
		t.Errorf("seen %v, %v", seen, err)
	}
}
