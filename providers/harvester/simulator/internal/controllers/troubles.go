// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Trouble is what keeps a part of Harvester from doing its work.
type Trouble string

// All there are.
const (
	// NoVolumes binds no PVC.
	NoVolumes Trouble = "volumes"
	// NoImports imports no image.
	NoImports Trouble = "images"
	// NoAgents has no guest agent answer.
	NoAgents Trouble = "agents"
	// NoLeases has DHCP servers give nothing.
	NoLeases Trouble = "leases"
	// NoAddresses has kube-vip announce nothing.
	NoAddresses Trouble = "addresses"
	// NoBoot ends virtual machines that have begun to run.
	NoBoot Trouble = "boot"
	// NoStart has virtual machines fail before they run.
	NoStart Trouble = "start"
	// PowersOff has guests shut themselves down.
	PowersOff Trouble = "off"
	// NoReset switches the setting vm-force-reset-policy off.
	NoReset Trouble = "reset"
	// NoCleanup has Harvester keep virtual machines that are deleted.
	NoCleanup Trouble = "cleanup"
	// Standstill has virtual machines that run stand still.
	Standstill Trouble = "standstill"
	// NoShutdown has virtual machines not stop.
	NoShutdown Trouble = "shutdown"
	// NoBalancing has nobody work on pools and load balancers.
	NoBalancing Trouble = "balancing"
)

// TroubleTable has the troubles of now: of everything, or of single objects.
type TroubleTable struct {
	mu    sync.Mutex
	of    map[Trouble]map[client.ObjectKey]bool
	wakes []func()
}

// NewTroubleTable has none.
func NewTroubleTable() *TroubleTable {
	return &TroubleTable{of: map[Trouble]map[client.ObjectKey]bool{}}
}

// Set makes or ends a trouble: an object's, or everybody's with the empty key.
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

// Has reports whether an object has a trouble, or everybody.
func (t *TroubleTable) Has(what Trouble, obj client.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[what][client.ObjectKey{}] || t.of[what][client.ObjectKeyFromObject(obj)]
}

// OnChange has wake called each time troubles begin or end.
func (t *TroubleTable) OnChange(wake func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakes = append(t.wakes, wake)
}
