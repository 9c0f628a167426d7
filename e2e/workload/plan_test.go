// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package workload

import (
	"slices"
	"testing"
	"time"
)

// start is when the oldest machine of a test was created.
var start = time.Date(2026, time.March, 1, 12, 0, 0, 0, time.UTC)

func controlPlaneMachine(name string, age time.Duration) machine {
	return machine{name: name, nodeName: name, controlPlane: true, bootable: true, created: start.Add(-age)}
}

func worker(name string) machine {
	return machine{name: name, nodeName: name, bootable: true, created: start}
}

func with(m machine, change func(*machine)) machine {
	change(&m)
	return m
}

func deleting(m *machine) { m.deleting = true }
func lost(m *machine)     { m.lost = true }
func unready(m *machine)  { m.bootable = false }

var (
	up      = node{name: "cp", controlPlane: true, ready: true}
	stopped = node{name: "cp", controlPlane: true}
	working = node{name: "w", ready: true}
)

type decisionCase struct {
	machines  []machine
	nodes     map[string]node
	reachable bool

	remove, stop, boot []string
}

var decisions = map[string]decisionCase{
	"an empty cluster has nothing to do": {},
	"a machine that lacks something does not boot": {
		machines: []machine{with(controlPlaneMachine("cp", 0), unready)},
	},
	"the first control plane boots": {
		machines: []machine{controlPlaneMachine("cp", 0)},
		boot:     []string{"cp"},
	},
	"a worker waits for a control plane": {
		machines: []machine{worker("w")},
	},
	"a worker boots after the control plane that comes with it": {
		machines: []machine{worker("a"), controlPlaneMachine("b", 0)},
		boot:     []string{"b", "a"},
	},
	"the oldest control plane boots first": {
		machines: []machine{controlPlaneMachine("a", 0), controlPlaneMachine("b", time.Minute), controlPlaneMachine("c", 0)},
		boot:     []string{"b", "a", "c"},
	},
	"a node is not booted again": {
		machines: []machine{controlPlaneMachine("cp", 0)}, nodes: map[string]node{"cp": up}, reachable: true,
	},
	"nothing joins an API server that is down": {
		machines: []machine{controlPlaneMachine("cp", 0), controlPlaneMachine("new", 0), worker("w")},
		nodes:    map[string]node{"cp": stopped},
	},
	"workers join an API server that is up": {
		machines: []machine{controlPlaneMachine("cp", 0), worker("w")},
		nodes:    map[string]node{"cp": up}, reachable: true,
		boot: []string{"w"},
	},
	"a machine that is being deleted does not boot": {
		machines: []machine{with(controlPlaneMachine("cp", 0), deleting)},
	},
	"a machine without its infrastructure does not boot": {
		machines: []machine{with(controlPlaneMachine("cp", 0), lost)},
	},
	"a machine that is being deleted keeps its node while it has infrastructure": {
		machines: []machine{with(controlPlaneMachine("cp", 0), deleting)},
		nodes:    map[string]node{"cp": up}, reachable: true,
	},
	"a deleted machine's node goes with the infrastructure": {
		machines: []machine{with(with(controlPlaneMachine("cp", 0), deleting), lost)},
		nodes:    map[string]node{"cp": up}, reachable: true,
		remove: []string{"cp"},
	},
	"the node of a machine that is gone goes": {
		nodes: map[string]node{"cp": up, "w": working}, reachable: true,
		remove: []string{"cp", "w"},
	},
	"a node that loses its infrastructure stops": {
		machines: []machine{with(controlPlaneMachine("cp", 0), lost)},
		nodes:    map[string]node{"cp": up}, reachable: true,
		stop: []string{"cp"},
	},
	"a node stops once": {
		machines: []machine{with(controlPlaneMachine("cp", 0), lost)}, nodes: map[string]node{"cp": stopped},
	},
	"a new control plane may follow when all are gone": {
		machines: []machine{controlPlaneMachine("new", 0)},
		nodes:    map[string]node{"cp": stopped},
		remove:   []string{"cp"}, boot: []string{"new"},
	},
}

func TestDecide(t *testing.T) {
	for name, tc := range decisions {
		t.Run(name, func(t *testing.T) {
			d := decide(observation{machines: tc.machines, nodes: tc.nodes, reachable: tc.reachable})
			var boot []string
			for _, m := range d.boot {
				boot = append(boot, m.name)
			}
			if !slices.Equal(d.remove, tc.remove) || !slices.Equal(d.stop, tc.stop) || !slices.Equal(boot, tc.boot) {
				t.Errorf("got remove %v, stop %v, boot %v; want %v, %v, %v", d.remove, d.stop, boot, tc.remove, tc.stop, tc.boot)
			}
		})
	}
}

func TestDecideDoesNotDependOnOrder(t *testing.T) {
	machines := []machine{controlPlaneMachine("a", 0), controlPlaneMachine("b", time.Minute), worker("c"), worker("d")}
	want := decide(observation{machines: machines})
	slices.Reverse(machines)
	got := decide(observation{machines: machines})
	same := slices.EqualFunc(got.boot, want.boot, func(a, b machine) bool { return a.name == b.name })
	if !same {
		t.Errorf("boot order %v differs from %v", got.boot, want.boot)
	}
}
