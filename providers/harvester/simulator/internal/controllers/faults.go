// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Fault keeps a part of Harvester from working.
type Fault string

// Faults of the components.
const (
	// NoVolumes stops the binding of PVCs.
	NoVolumes Fault = "volumes"
	// NoImports stops the import of images.
	NoImports Fault = "images"
	// NoAgents keeps guest agents from responding.
	NoAgents Fault = "agents"
	// NoLeases keeps DHCP servers from providing addresses.
	NoLeases Fault = "leases"
	// NoAddresses keeps kube-vip from announcing addresses.
	NoAddresses Fault = "addresses"
	// Crash ends virtual machines once they are running.
	Crash Fault = "crash"
	// NoStart makes virtual machines fail before they run.
	NoStart Fault = "start"
	// PowersOff makes guests shut themselves down.
	PowersOff Fault = "off"
	// NoReset disables the setting vm-force-reset-policy.
	NoReset Fault = "reset"
	// NoVirtController keeps virt-controller from processing virtual machines.
	NoVirtController Fault = "virt-controller"
	// NoCleanup keeps Harvester's finalizer on deleted virtual machines.
	NoCleanup Fault = "cleanup"
	// Paused freezes running virtual machines.
	Paused Fault = "paused"
	// NoShutdown keeps virtual machines from stopping.
	NoShutdown Fault = "shutdown"
	// NoLoadBalancer stops the processing of pools and load balancers.
	NoLoadBalancer Fault = "load-balancer"
)

// FaultTable holds the active faults of all or of single objects.
type FaultTable struct {
	mu        sync.Mutex
	active    map[Fault]map[client.ObjectKey]bool
	listeners []func()
}

// NewFaultTable returns an empty table.
func NewFaultTable() *FaultTable {
	return &FaultTable{active: map[Fault]map[client.ObjectKey]bool{}}
}

// Set begins or ends a fault of an object, or of all objects with the empty key.
func (t *FaultTable) Set(what Fault, key client.ObjectKey, on bool) {
	t.mu.Lock()
	if t.active[what] == nil {
		t.active[what] = map[client.ObjectKey]bool{}
	}
	if on {
		t.active[what][key] = true
	} else {
		delete(t.active[what], key)
	}
	listeners := t.listeners
	t.mu.Unlock()
	for _, notify := range listeners {
		notify()
	}
}

// Has reports whether an object, or all objects, have a fault.
func (t *FaultTable) Has(what Fault, obj client.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.active[what][client.ObjectKey{}] || t.active[what][client.ObjectKeyFromObject(obj)]
}

// OnChange registers a function that is called when faults begin or end.
func (t *FaultTable) OnChange(notify func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.listeners = append(t.listeners, notify)
}
