// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"strings"
	"testing"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/faults"
)

// arguments returns the arguments of faults that have no Chaos, for the VM "vm" of ThreeZones.
func arguments(f simulator.Fault) []string {
	return map[string][]string{
		"lost-datastores": {"dc-1", "datastore-b"}, "held": {"CloneVM_Task"}, "overloaded": {"Login"}, "hanging": {"Login"}, "full-hosts": {"zone-a"},
	}[f.Name]
}

func TestFaultsAreReverted(t *testing.T) {
	t.Parallel()
	for _, fault := range simulator.Faults() {
		t.Run(fault.Name, func(t *testing.T) {
			t.Parallel()
			s := simulator.Start(t, simulator.ThreeZones(), fault.Options...)
			c := connect(t, s, "dc-1")
			spec := c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a")
			c.clone("vm", spec)
			targets := [][]string{arguments(fault)}
			if fault.Chaos != nil && fault.Chaos.Targets != nil {
				targets = fault.Chaos.Targets(s)
			}
			if fault.Set == nil {
				targets = nil
				if err := s.SetFault(t.Context(), fault.Name, true); err == nil {
					t.Error("it can be set although the server was not started with it")
				}
			}
			for _, target := range targets {
				must(0, s.SetFault(t.Context(), fault.Name, true, target...))(t)
				must(0, s.SetFault(t.Context(), fault.Name, false, target...))(t)
			}
			again := connect(t, s, "dc-1")
			again.powerOn(again.clone("another", spec))
			if vm, ok := s.VM("another"); !ok || vm.Power != string(types.VirtualMachinePowerStatePoweredOn) || vm.Cluster != "zone-a" {
				t.Errorf("the VM is %+v", vm)
			}
			must(again.finder.VirtualMachine(t.Context(), "/dc-1/vm/workload/another"))(t)
		})
	}
}

func TestFaultsAreDocumented(t *testing.T) {
	t.Parallel()
	faults.Described(t, simulator.Faults())
}

func TestWithFault(t *testing.T) {
	t.Parallel()
	s := simulator.Start(t, simulator.ThreeZones(), simulator.WithFault("held", "CloneVM_Task"))
	c := connect(t, s, "dc-1")
	task := c.startClone("vm", c.cloneSpec("/dc-1/host/zone-a/Resources", "datastore-a"))
	if running := s.RunningTasks(); len(running) != 1 {
		t.Errorf("running tasks are %v", running)
	}
	must(0, s.SetFault(t.Context(), "held", false, "CloneVM_Task"))(t)
	must(0, task.Wait(t.Context()))(t)
}

func TestInvalidFaults(t *testing.T) {
	t.Parallel()
	for want, opt := range map[string]simulator.Option{
		`unknown fault "weather": must be one of slow, failing`:                              simulator.WithFault("weather"),
		"fault lost-hosts has 0 arguments; it is lost-hosts/cluster/[host]":                  simulator.WithFault("lost-hosts"),
		"fault hidden-clones has 1 arguments; it is hidden-clones":                           simulator.WithFault("hidden-clones", "all"),
		"fault silent lasts as long as the simulator: start one with it":                     simulator.WithFault("silent", "all"),
		`what a restart loses must be sessions, tasks, connections or everything, not "wit"`: simulator.WithFault("restarts", "wit"),
	} {
		s, err := simulator.New(simulator.ThreeZones(), opt)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("the error is %v, want %s", err, want)
		}
		if s != nil {
			s.Close()
		}
	}
}
