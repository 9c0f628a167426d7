// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
)

// simulatedControlPlane is a control plane whose etcd members are only removed by the deletion of their machine, and two managers
// that read it at different times.
type simulatedControlPlane struct {
	Snapshot
	random   *rand.Rand
	versions map[string]int
	made     int
	now      time.Time
	// views holds what each manager has read last, with the resourceVersions.
	views [2]struct {
		Snapshot
		versions map[string]int
	}
	free []string
}

func newSimulatedControlPlane(seed uint64) *simulatedControlPlane {
	random := rand.New(rand.NewPCG(seed, 1))
	l := &simulatedControlPlane{Snapshot: plane(1 + 2*random.IntN(3)), random: random, versions: map[string]int{}, now: deletedAt}
	l.made = len(l.Machines)
	return l
}

func (l *simulatedControlPlane) changed(m *Machine) { l.versions[m.Name]++ }

// act performs one random change of a machine.
func (l *simulatedControlPlane) act() {
	l.now = l.now.Add(time.Duration(l.random.IntN(2)) * time.Second) // deletions can have the same time
	m := &l.Machines[l.random.IntN(len(l.Machines))]
	switch l.random.IntN(6) {
	case 0:
		m.NodeReady = !m.NodeReady
	case 1:
		if !m.deleting() {
			m.Deleted = l.now
		}
	case 2:
		m.Waiting = m.deleting()
	case 3:
		m.HasNode, m.NodeReady = true, true
	case 4:
		if m.deleting() && !m.Hooked {
			l.Machines = slices.DeleteFunc(l.Machines, func(o Machine) bool { return o.Name == m.Name })
			l.create()
			return
		}
	case 5:
		if l.random.IntN(4) == 0 {
			l.create()
		}
	}
	l.changed(m)
}

// create makes the control plane add a missing machine.
func (l *simulatedControlPlane) create() {
	if len(l.Machines) > *l.ControlPlane.Replicas {
		return
	}
	l.Machines = append(l.Machines, Machine{Name: fmt.Sprintf("m%d", l.made), Owner: owner})
	l.made++
}

func (l *simulatedControlPlane) read(manager int) {
	v := &l.views[manager]
	v.Snapshot, v.versions = l.Snapshot, map[string]int{}
	v.Machines = slices.Clone(l.Machines)
	for name, version := range l.versions {
		v.versions[name] = version
	}
}

// write makes a manager write what it decided from its view; it stops at a conflict.
func (l *simulatedControlPlane) write(manager int) {
	v := &l.views[manager]
	for i, verdict := range Decide(v.Snapshot) {
		was := &v.Machines[i]
		at := slices.IndexFunc(l.Machines, func(m Machine) bool { return m.Name == was.Name })
		if verdict.Action == Leave || verdict.Action == Hold && verdict.Why == was.Why {
			continue
		}
		if at < 0 || l.versions[was.Name] != v.versions[was.Name] {
			return
		}
		m := &l.Machines[at]
		m.Hooked, m.Why = verdict.Action != Release, verdict.Why
		if verdict.Action == Release && m.deleting() && m.member() {
			l.free = append(l.free, m.Name)
		}
		l.changed(m)
	}
}

// leavingNow lists the leaving members that were held before.
func (l *simulatedControlPlane) leavingNow() (names []string) {
	for i := range l.Machines {
		if m := &l.Machines[i]; m.leaving() && slices.Contains(l.free, m.Name) {
			names = append(names, m.Name)
		}
	}
	return names
}

func TestTwoManagersReleaseOneMachine(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	freed := 0
	for seed := range uint64(600) {
		l := newSimulatedControlPlane(seed)
		l.read(0)
		l.read(1)
		for range 120 {
			switch manager := l.random.IntN(2); l.random.IntN(3) {
			case 0:
				if len(l.Machines) > 0 {
					l.act()
				}
			case 1:
				l.read(manager)
			case 2:
				l.write(manager)
				l.read(manager)
			}
			if len(l.Machines) == 0 {
				break
			}
			if names := l.leavingNow(); len(names) > 1 {
				t.Fatalf("seed %d: %v", seed, names)
			}
		}
		freed += len(l.free)
	}
	g.Expect(freed).To(BeNumerically(">", 200), "the model lets machines go")
}

func TestDeletionsInTheSameSecond(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	l := newSimulatedControlPlane(0)
	l.Snapshot = plane(5, deleted(1))
	l.read(0)
	l.Machines[0].Deleted, l.Machines[0].Waiting = l.Machines[1].Deleted, true
	l.changed(&l.Machines[0])
	for range 2 {
		l.read(1)
		l.write(1)
	}
	g.Expect(l.leavingNow()).To(Equal([]string{"m0"}), "of two it is the first by name")
	l.write(0)
	g.Expect(l.leavingNow()).To(Equal([]string{"m0"}))
}

func TestMajorityRemains(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for seed := range uint64(600) {
		l := newSimulatedControlPlane(seed)
		for range 100 {
			if len(l.Machines) == 0 {
				break
			}
			l.act()
			l.read(0)
			members, votes := 0, map[string]bool{}
			for i := range l.Machines {
				if m := &l.Machines[i]; m.member() {
					members++
					votes[m.Name] = m.NodeReady && !m.leaving()
				}
			}
			before := len(l.free)
			l.write(0)
			for _, name := range l.free[before:] {
				left := 0
				for other, vote := range votes {
					if vote && other != name {
						left++
					}
				}
				if members > 2 {
					g.Expect(left).To(BeNumerically(">", members/2), "seed %d, machine %s", seed, name)
				} else {
					g.Expect(left).To(Equal(members-1), "seed %d, machine %s", seed, name)
				}
			}
		}
	}
}

// lived returns a life after the given number of acts, with a manager that has followed it.
func lived(seed uint64, acts int) *simulatedControlPlane {
	l := newSimulatedControlPlane(seed)
	for range acts {
		l.act()
		l.read(0)
		l.write(0)
		if len(l.Machines) == 0 {
			break
		}
	}
	return l
}

func TestEveryMachineIsReleasedEventually(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for seed := range uint64(100) {
		l := lived(seed, 60)
		for range 200 { // from here on nothing fails, and no machine is deleted
			l.Machines = slices.DeleteFunc(l.Machines, func(m Machine) bool { return m.deleting() && !m.Hooked })
			for len(l.Machines) < *l.ControlPlane.Replicas {
				l.create()
			}
			for i := range l.Machines {
				m := &l.Machines[i]
				m.HasNode, m.NodeReady, m.Waiting = true, true, m.deleting()
			}
			settle(&l.Snapshot)
			// The control plane creates a replacement although the waiting machine still exists.
			if slices.ContainsFunc(l.Machines, func(m Machine) bool { return m.held() }) {
				l.Machines = append(l.Machines, Machine{Name: fmt.Sprintf("m%d", l.made), Owner: owner, HasNode: true, NodeReady: true})
				l.made++
			}
		}
		for i := range l.Machines {
			g.Expect(l.Machines[i].deleting()).To(BeFalse(), "seed %d: %s: %s", seed, l.Machines[i].Name, l.Machines[i].Why)
		}
	}
}

func TestClusterDeletionReleasesAllMachines(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for seed := range uint64(200) {
		l := lived(seed, 40)
		l.Cluster.Leaving = true
		for i, verdict := range Decide(l.Snapshot) {
			want := Leave
			if l.Machines[i].Hooked {
				want = Release
			}
			g.Expect(verdict.Action).To(Equal(want), "seed %d", seed)
		}
	}
}

func TestDecideIsDeterministic(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for seed := range uint64(200) {
		l := newSimulatedControlPlane(seed)
		for range 40 {
			l.act()
			if len(l.Machines) == 0 {
				break
			}
		}
		verdicts := map[string]Verdict{}
		for _, verdict := range Decide(l.Snapshot) {
			verdicts[verdict.Machine] = verdict
		}
		l.random.Shuffle(len(l.Machines), func(i, j int) { l.Machines[i], l.Machines[j] = l.Machines[j], l.Machines[i] })
		for _, verdict := range Decide(l.Snapshot) {
			g.Expect(verdict).To(Equal(verdicts[verdict.Machine]), "seed %d", seed)
		}
		settle(&l.Snapshot)
		g.Expect(settle(&l.Snapshot)).To(BeEmpty())
		l.ControlPlane.Replicas = ptr.To(0)
		settle(&l.Snapshot)
		g.Expect(slices.ContainsFunc(l.Machines, func(m Machine) bool { return m.Hooked })).To(BeFalse())
	}
}
