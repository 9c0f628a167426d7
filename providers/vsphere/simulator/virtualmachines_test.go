// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"testing"

	"github.com/vmware/govmomi/object"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestRegisteredCopy(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	c.powerOn(c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")))
	must(0, s.SetNotes("vm", "ours"))(t)
	must(0, s.RegisterCopy("vm", "copy"))(t)
	original, _ := s.VM("vm")
	copied, found := s.VM("copy")
	if !found || copied.UUID != original.UUID || copied.InstanceUUID == original.InstanceUUID {
		t.Errorf("of %+v the copy is %+v", original, copied)
	}
	if copied.Power != "poweredOff" || copied.Annotation != "ours" || copied.Folder != original.Folder {
		t.Errorf("the copy is %+v", copied)
	}
	if err := s.RegisterCopy("nothing", "copy"); err == nil {
		t.Error("copied a VM that does not exist")
	}
}

func TestUnmanageableVM(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	for name, state := range map[string]types.VirtualMachineConnectionState{
		"orphan": types.VirtualMachineConnectionStateOrphaned, "unreadable": types.VirtualMachineConnectionStateInaccessible,
	} {
		vm := c.clone(name, spec)
		c.powerOn(vm)
		must(0, s.SetConnectionState(name, state))(t)
		off := mustTask(t)(vm.PowerOff(t.Context())).Wait(t.Context())
		if refused := isFault(off, &types.InvalidState{}); refused != (name == "orphan") {
			t.Errorf("%s: switching off: %v", name, off)
		}
		if err := mustTask(t)(vm.Destroy(t.Context())).Wait(t.Context()); !isFault(err, &types.InvalidState{}) {
			t.Errorf("%s: destroying: error is %v", name, err)
		}
		must(0, vm.Unregister(t.Context()))(t)
		if _, found := s.VM(name); found {
			t.Errorf("%s exists", name)
		}
	}
}

func TestUnregisterOnDisconnectedHost(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	must(0, s.DisconnectHosts("zone-a"))(t)
	if err := vm.Unregister(t.Context()); err == nil {
		t.Error("unregistered on a disconnected host")
	}
}

func TestWithheldUUIDs(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	st := connect(t, s, "").follow(map[string][]string{"VirtualMachine": {"name", "summary.config"}})
	eventually(t, "the template is visible", func() bool { return st.count("VirtualMachine") == 1 })
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	s.WithholdUUIDs(true)
	must(0, c.startClone("nameless", spec).Wait(t.Context()))(t)
	eventually(t, "it is visible", func() bool { return st.count("VirtualMachine") == 2 })
	s.WithholdUUIDs(false)
	must(0, s.RevealUUIDs("nameless"))(t)
}

// A hidden VM is in no folder, and cannot be found through a container view, its pool or its host.
func TestHiddenVMs(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	pool := must(c.finder.ResourcePool(t.Context(), "/dc-1/host/zone-a/Resources"))(t).Reference()
	byView := connect(t, s, "").follow(map[string][]string{"VirtualMachine": {"name"}})
	byPool := c.followListed(pool, "vm", types.PropertySpec{Type: "VirtualMachine", PathSet: []string{"name"}})
	eventually(t, "the template is visible", func() bool { return byView.count("VirtualMachine") == 1 })
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	seen := func(vm *object.VirtualMachine) bool {
		return byView.get(vm.Reference()) != nil && byPool.get(vm.Reference()) != nil
	}

	s.HideClones(true)
	hidden := c.clone("hidden", spec)
	s.HideClones(false)
	plain := c.clone("plain", spec)
	eventually(t, "the plain one is visible", func() bool { return seen(plain) })
	must(0, s.HideVM("plain"))(t)
	eventually(t, "the plain one is hidden", func() bool {
		return byView.get(plain.Reference()) == nil && byPool.get(plain.Reference()) == nil
	})
	for name, st := range map[string]*stream{"the view": byView, "the pool": byPool} {
		if st.ever(hidden.Reference()) {
			t.Errorf("the hidden one was visible through %s", name)
		}
	}
	if _, found := s.VM("hidden"); !found {
		t.Error("the hidden one does not exist")
	}
	must(0, s.ShowVM("hidden"))(t)
	eventually(t, "the hidden one is visible", func() bool { return seen(hidden) })
	must(0, s.ShowVM("plain"))(t)
	eventually(t, "the plain one is visible again", func() bool { return seen(plain) })
}
