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

// machine holds the relevant fields of a Machine.
type machine struct {
	name     string
	nodeName string // the name of its node

	providerID   string
	labels       map[string]string // of its node, in addition to the default ones
	version      string
	addresses    clusterv1.MachineAddresses
	controlPlane bool
	rke2         bool // boots RKE2, not kubeadm
	created      time.Time

	bootable bool // has infrastructure and bootstrap data
	deleting bool
	lost     bool // had infrastructure that has been deleted
	joined   bool // Cluster API has observed its node before
}

// node is the node of a machine.
type node struct {
	name         string
	controlPlane bool
	ready        bool
}

// observation holds everything that a decision about a cluster depends on.
type observation struct {
	machines []machine
	nodes    map[string]node // by machine
	// reachable reports whether an API server responds.
	reachable bool
}

// decision holds the actions for a cluster, in the order of the fields.
type decision struct {
	remove []string  // machines whose nodes must be removed
	stop   []string  // machines whose nodes have lost their infrastructure
	boot   []machine // machines that become nodes
}

// decide returns the next actions in a cluster. Control planes boot before workers and the oldest first, so that the machine that
// initialises the cluster precedes those that join. Nothing joins an API server that is down.
func decide(o observation) decision {
	d, controlPlanes := o.fates()
	if controlPlanes > 0 && !o.reachable {
		return d
	}
	for _, m := range o.due() {
		// Without a control plane a worker cannot join.
		if m.controlPlane || controlPlanes > 0 {
			d.boot = append(d.boot, m)
			controlPlanes++
		}
	}
	return d
}

// fates decides about existing nodes, and counts the control planes that stay.
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

// due returns the machines that must boot, in that order.
func (o observation) due() (due []machine) {
	for _, m := range o.machines {
		if _, booted := o.nodes[m.name]; !booted && m.bootable && !m.deleting && !m.lost {
			due = append(due, m)
		}
	}
	slices.SortFunc(due, bootOrder)
	return due
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
