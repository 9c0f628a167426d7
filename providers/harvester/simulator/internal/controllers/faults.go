// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Trouble keeps a part of Harvester from working.
type Trouble string

// Troubles.
const (
	// NoVolumes stops the binding of PVCs.
	NoVolumes Trouble = "volumes"
	// NoImports stops the import of images.
	NoImports Trouble = "images"
	// NoAgents keeps guest agents from responding.
	NoAgents Trouble = "agents"
	// NoLeases keeps DHCP servers from providing addresses.
	NoLeases Trouble = "leases"
	// NoAddresses keeps kube-vip from announcing addresses.
	NoAddresses Trouble = "addresses"
	// NoBoot ends virtual machines once they are running.
	NoBoot Trouble = "boot"
	// NoStart makes virtual machines fail before they run.
	NoStart Trouble = "start"
	// PowersOff makes guests shut themselves down.
	PowersOff Trouble = "off"
	// NoReset disables the setting vm-force-reset-policy.
	NoReset Trouble = "reset"
	// NoCleanup keeps Harvester's finalizer on deleted virtual machines.
	NoCleanup Trouble = "cleanup"
	// Standstill freezes running virtual machines.
	Standstill Trouble = "standstill"
	// NoShutdown keeps virtual machines from stopping.
	NoShutdown Trouble = "shutdown"
	// NoBalancing stops the processing of pools and load balancers.
	NoBalancing Trouble = "balancing"
)

// TroubleTable holds the active troubles of all or of single objects.
type TroubleTable struct {
	mu    sync.Mutex
	of    map[Trouble]map[client.ObjectKey]bool
	wakes []func()
}

// NewTroubleTable returns an empty table.
func NewTroubleTable() *TroubleTable {
	return &TroubleTable{of: map[Trouble]map[client.ObjectKey]bool{}}
}

// Set begins or ends a trouble of an object, or of all objects with the empty key.
func (t *TroubleTable) Set(what Trouble, key client.ObjectKey, on bool) {
	t.mu.Lock()
	if t.of[what] == nil {
		t.of[what] = map[client.ObjectKey]bool{}
	}
	if on {
		t.of[what][key] = true
	} else {
		delete(t.of[what], key)
	}
	wakes := t.wakes
	t.mu.Unlock()
	for _, wake := range wakes {
		wake()
	}
}

// Has reports whether an object, or all objects, have a trouble.
func (t *TroubleTable) Has(what Trouble, obj client.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[what][client.ObjectKey{}] || t.of[what][client.ObjectKeyFromObject(obj)]
}

// OnChange registers a function that is called when troubles begin or end.
func (t *TroubleTable) OnChange(wake func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakes = append(t.wakes, wake)
}
