// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator_test

import (
	"testing"

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
	copied, there := s.VM("copy")
	if !there || copied.UUID != original.UUID || copied.InstanceUUID == original.InstanceUUID {
		t.Errorf("of %+v the copy is %+v", original, copied)
	}
	if copied.Power != "poweredOff" || copied.Annotation != "ours" || copied.Folder != original.Folder {
		t.Errorf("the copy is %+v", copied)
	}
	if err := s.RegisterCopy("nothing", "copy"); err == nil {
		t.Error("nothing was copied")
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
		if _, there := s.VM(name); there {
			t.Errorf("%s is there", name)
		}
	}
}

func TestLostHostKeepsItsVMsRegistered(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	vm := c.clone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	must(0, s.DisconnectHosts("zone-a"))(t)
	if err := vm.Unregister(t.Context()); err == nil {
		t.Error("unregistered behind a lost host")
	}
}

func TestCloneWhoseUUIDsComeLate(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones())
	c := connect(t, s, "dc-1")
	st := connect(t, s, "").follow(map[string][]string{"VirtualMachine": {"name", "summary.config"}})
	eventually(t, "the template is in sight", func() bool { return st.count("VirtualMachine") == 1 })
	spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
	s.WithholdUUIDs(true)
	must(0, c.startClone("nameless", spec).Wait(t.Context()))(t)
	eventually(t, "it is in sight", func() bool { return st.count("VirtualMachine") == 2 })
	s.WithholdUUIDs(false)
	must(0, s.RevealUUIDs("nameless"))(t)
}
