// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package workload

import (
	"cmp"
	"maps"
	"slices"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// machine is what the management API says about a Machine.
type machine struct {
	name     string
	nodeName string // what its node calls itself

	providerID   string
	labels       map[string]string // of its node, beside those that every one has
	version      string
	addresses    clusterv1.MachineAddresses
	controlPlane bool
	created      time.Time

	bootable bool // has infrastructure and bootstrap data
	deleting bool
	lost     bool // had infrastructure that is gone
	joined   bool // Cluster API has seen its node before
}

// node is what a machine became.
type node struct {
	name         string
	controlPlane bool
	ready        bool
}

// observation is all that a decision about a cluster rests on.
type observation struct {
	machines []machine
	nodes    map[string]node      // by machine
	bootable map[string]time.Time // since when each bootable machine has been so
	// reachable says that an API server answers.
	reachable bool
	bootDelay time.Duration
	now       time.Time
}

// decision is what to do about a cluster, in the order of the fields.
type decision struct {
	remove []string      // machines whose nodes are gone
	stop   []string      // machines whose nodes have lost their infrastructure
	boot   []machine     // machines that become nodes
	wait   time.Duration // until the next machine boots; 0 when none is due by time alone
}

// decide says what happens next in a cluster. Control planes boot before
// workers and the oldest first, so that the machine that initialises the
// cluster precedes those that join; nothing joins an API server that is down.
func decide(o observation) decision {
	d, controlPlanes := o.fates()
	due, wait := o.due()
	d.wait = wait
	if controlPlanes > 0 && !o.reachable {
		return d
	}
	for _, m := range due {
		// Without a control plane there is nothing that a worker could join.
		if m.controlPlane || controlPlanes > 0 {
			d.boot = append(d.boot, m)
			controlPlanes++
		}
	}
	return d
}

// fates decides about the nodes there are, and counts the control planes that stay.
func (o observation) fates() (d decision, controlPlanes int) {
	known := map[string]machine{}
	for _, m := range o.machines {
		known[m.name] = m
	}
	for _, name := range slices.Sorted(maps.Keys(o.nodes)) {
		m, exists := known[name]
		if !exists || m.deleting && m.lost {
			d.remove = append(d.remove, name)
			continue
		}
		if m.lost && o.nodes[name].ready {
			d.stop = append(d.stop, name)
		}
		if o.nodes[name].controlPlane {
			controlPlanes++
		}
	}
	return d, controlPlanes
}

// due returns the machines whose time to boot has come, in the order in which
// they boot, and how long it is to the next one.
func (o observation) due() (due []machine, wait time.Duration) {
	for _, m := range o.machines {
		if _, booted := o.nodes[m.name]; booted || !m.bootable || m.deleting || m.lost {
			continue
		}
		left := o.bootDelay - o.now.Sub(o.bootable[m.name])
		switch {
		// What had joined before the simulator was restarted is up already.
		case m.joined || left <= 0:
			due = append(due, m)
		case wait == 0 || left < wait:
			wait = left
		}
	}
	slices.SortFunc(due, bootOrder)
	return due, wait
}

func bootOrder(a, b machine) int {
	if a.controlPlane != b.controlPlane {
		if a.controlPlane {
			return -1
		}
		return 1
	}
	return cmp.Or(a.created.Compare(b.created), cmp.Compare(a.name, b.name))
}
