// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
)

const owner = "ExternalControlPlane.controlplane.cluster.x-k8s.io one"

var deletedAt = time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)

// plane returns a control plane with the given number of machines m0, m1, ..., which all have Faultline's hook and a vote.
func plane(machines int, change ...func(*Snapshot)) Snapshot {
	s := Snapshot{Wanted: true, Cluster: Cluster{Name: "one"}, ControlPlane: ControlPlane{Name: owner, Replicas: ptr.To(machines)}}
	for i := range machines {
		s.Machines = append(s.Machines, Machine{Name: fmt.Sprintf("m%d", i), Owner: owner, Hooked: true, HasNode: true, NodeReady: true})
	}
	for _, c := range change {
		c(&s)
	}
	return s
}

// deleted sets that the machines are being deleted, in this order, and that Cluster API waits for hooks.
func deleted(which ...int) func(*Snapshot) {
	return func(s *Snapshot) {
		for order, i := range which {
			s.Machines[i].Deleted, s.Machines[i].Waiting = deletedAt.Add(time.Duration(order)*time.Second), true
		}
	}
}

func notReady(i int) func(*Snapshot) { return func(s *Snapshot) { s.Machines[i].NodeReady = false } }

func replicas(n int) func(*Snapshot) {
	return func(s *Snapshot) { s.ControlPlane.Replicas = ptr.To(n) }
}

func deletedMachine(i int) func(*Snapshot) {
	return func(s *Snapshot) { s.Machines = slices.Delete(s.Machines, i, i+1) }
}

// etcd sets the state of the etcd members on the first machines.
func etcd(states ...Etcd) func(*Snapshot) {
	return func(s *Snapshot) {
		for i, state := range states {
			s.Machines[i].Etcd = state
		}
	}
}

// joining adds a machine that has a Node and no vote yet.
func joining(s *Snapshot) {
	s.Machines = append(s.Machines, Machine{Name: "new", Owner: owner, Hooked: true, HasNode: true})
}

// settle applies verdicts until nothing is left to write, and returns the released machines in order.
func settle(s *Snapshot) []string {
	var free []string
	for {
		wrote := false
		for i, v := range Decide(*s) {
			m := &s.Machines[i]
			switch {
			case v.Action == Release:
				m.Hooked, m.Why = false, ""
				free = append(free, m.Name)
			case v.Action == Protect:
				m.Hooked = true
			case v.Action == Hold && v.Why != m.Why:
				m.Why = v.Why
			default:
				continue
			}
			wrote = true
		}
		if !wrote {
			return free
		}
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		snapshot Snapshot
		free     []string
		why      map[string]string
	}{
		"one of three":                       {snapshot: plane(3, deleted(0)), free: []string{"m0"}},
		"the one that is not healthy":        {snapshot: plane(3, deleted(0), notReady(0)), free: []string{"m0"}},
		"another is not healthy":             {snapshot: plane(3, deleted(0), notReady(2)), why: map[string]string{"m0": "Of 3 members 1 would be healthy without it, and 2 must be"}},
		"one of five, another not healthy":   {snapshot: plane(5, deleted(0), notReady(2)), free: []string{"m0"}},
		"one of five, two others not":        {snapshot: plane(5, deleted(0), notReady(2), notReady(3)), why: map[string]string{"m0": "Machine m2: its condition NodeReady is not True; Machine m3"}},
		"the only one":                       {snapshot: plane(1, deleted(0)), free: []string{"m0"}},
		"the only one, not healthy":          {snapshot: plane(1, deleted(0), notReady(0)), free: []string{"m0"}},
		"the last of three":                  {snapshot: plane(3, deleted(0), deletedMachine(2), deletedMachine(1)), why: map[string]string{"m0": "wait until the new machines have joined"}},
		"scaled down to one":                 {snapshot: plane(3, deleted(0), replicas(1)), free: []string{"m0"}},
		"the second of two, scaled to one":   {snapshot: plane(2, deleted(0), replicas(1)), free: []string{"m0"}},
		"of two, the other not healthy":      {snapshot: plane(2, deleted(0), replicas(1), notReady(1)), why: map[string]string{"m0": "Of 2 members 0 would be healthy without it, and 1 must be"}},
		"surged, all healthy":                {snapshot: plane(4, deleted(0), replicas(3)), free: []string{"m0"}},
		"surged, one that is new is not yet": {snapshot: plane(3, deleted(0), joining), why: map[string]string{"m0": "Machine new"}},
		"the new one is given up":            {snapshot: plane(3, joining, deleted(0, 3)), free: []string{"new"}, why: map[string]string{"m0": "Machine new is deleted first: wait until it is deleted"}},
		"one member does not vote":           {snapshot: plane(3, deleted(0), etcd(Voting, Voting, NotVoting)), why: map[string]string{"m0": "Machine m2: its condition EtcdMemberHealthy is not True"}},
		"etcd does not report one member":    {snapshot: plane(3, deleted(0), etcd(Voting, Voting)), why: map[string]string{"m0": "reports as healthy"}},
		"all members vote":                   {snapshot: plane(3, deleted(0), etcd(Voting, Voting, Voting)), free: []string{"m0"}},
		"a health check has failed": {
			snapshot: plane(3, deleted(0), func(s *Snapshot) { s.Machines[1].Failing = true }), why: map[string]string{"m0": "Machine m1: it fails a health check"},
		},
		"two at once, the first goes": {
			snapshot: plane(3, deleted(1, 0)), free: []string{"m1"}, why: map[string]string{"m0": "Machine m1 is deleted first: wait until it is deleted"},
		},
		"two at once, the second when its turn comes": {
			snapshot: plane(3, deleted(1, 0), deletedMachine(1)), why: map[string]string{"m0": "Of 3 members 1 would be healthy without it, and 2 must be"},
		},
		"one without a hook is being deleted": {
			snapshot: plane(5, deleted(0, 1), func(s *Snapshot) { s.Machines[0].Hooked = false }), why: map[string]string{"m1": "Machine m0 is deleted first"},
		},
		"it is drained first": {
			snapshot: plane(3, deleted(0), func(s *Snapshot) { s.Machines[0].Waiting = false }), why: map[string]string{"m0": ""},
		},
		"one that never joined does not keep others waiting": {
			snapshot: plane(3, deleted(0), func(s *Snapshot) {
				s.Machines = append(s.Machines, Machine{Name: "new", Owner: owner, Deleted: deletedAt})
			}),
			free: []string{"m0"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := tc.snapshot
			g.Expect(settle(&s)).To(Equal(tc.free))
			for i := range s.Machines {
				if why, waits := tc.why[s.Machines[i].Name]; waits {
					g.Expect(s.Machines[i].Why).To(ContainSubstring(why))
				}
			}
		})
	}
}

// Each exemption releases the machine: without it the same machine is held.
func TestExemptions(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*Snapshot){
		"NotWanted":            func(s *Snapshot) { s.Wanted = false },
		"ClusterLeaving":       func(s *Snapshot) { s.Cluster.Leaving = true },
		"ControlPlaneProtects": func(s *Snapshot) { s.ControlPlane.ProtectsQuorum = true },
		"NoControlPlane":       func(s *Snapshot) { s.ControlPlane.Name = "" },
		"ControlPlaneLeaving":  func(s *Snapshot) { s.ControlPlane.Leaving = true },
		"NotOfControlPlane":    func(s *Snapshot) { s.Machines[0].Owner = "KubeadmControlPlane.controlplane.cluster.x-k8s.io one" },
		"OthersHook": func(s *Snapshot) {
			s.Machines[0].OthersHook = "pre-terminate.delete.hook.machine.cluster.x-k8s.io/kcp-cleanup"
		},
		"ScaledToZero": func(s *Snapshot) { s.ControlPlane.Replicas = ptr.To(0) },
		"NeverJoined":  func(s *Snapshot) { s.Machines[0].HasNode = false },
	}
	names := make([]string, 0, len(cases))
	for _, e := range exemptions() {
		names = append(names, e.name)
	}
	g := NewWithT(t)
	g.Expect(slices.Collect(maps.Keys(cases))).To(ConsistOf(names))
	g.Expect(settle(ptr.To(plane(3, deleted(0), notReady(1), notReady(2))))).To(BeEmpty())
	for name, change := range cases {
		s := plane(3, deleted(0), notReady(1), notReady(2), change)
		exempt, _ := s.exempt(&s.Machines[0])
		g.Expect(exempt).To(Equal(name))
		g.Expect(settle(&s)).To(ContainElement("m0"), name)

		s = plane(3, change)
		s.Machines[0].Hooked = false
		want := Leave
		if name == "NeverJoined" { // it may still join
			want = Protect
		}
		g.Expect(Decide(s)[0].Action).To(Equal(want), name)
	}
}

func TestHookIsSetBeforeDeletion(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := plane(3)
	s.Machines[0].Hooked, s.Machines[1].Hooked = false, false
	deleted(1)(&s)
	g.Expect(Decide(s)).To(ConsistOf(
		Verdict{Machine: "m0", Action: Protect}, Verdict{Machine: "m1", Action: Leave}, Verdict{Machine: "m2", Action: Leave}))
}

func TestHoldIsRecordedBeforeRelease(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	s := plane(5, deleted(0, 1))
	g.Expect(Decide(s)[0].Action).To(Equal(Hold))
	g.Expect(Decide(s)[1]).To(Equal(Verdict{"m1", Hold, "Machine m0 is deleted first: wait until it is deleted"}))
	s.Machines[1].Why = Decide(s)[1].Why
	g.Expect(Decide(s)[0].Action).To(Equal(Release))
}
