// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"sync"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// trouble is what keeps a part of Harvester from doing its work.
type trouble string

const (
	noVolumes   trouble = "volumes"
	noImports   trouble = "images"
	noAgents    trouble = "agents"
	noLeases    trouble = "leases"
	noAddresses trouble = "addresses"
	noBoot      trouble = "boot"
	standstill  trouble = "standstill"
	noShutdown  trouble = "shutdown"
	noBalancing trouble = "balancing"
)

// troubles are those of now: of everything, or of single objects.
type troubles struct {
	mu    sync.Mutex
	of    map[trouble]map[client.ObjectKey]bool
	wakes []func()
}

func newTroubles() *troubles {
	return &troubles{of: map[trouble]map[client.ObjectKey]bool{}}
}

// set makes or ends a trouble: an object's, or everybody's with the empty key.
func (t *troubles) set(what trouble, key client.ObjectKey, on bool) {
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

// has reports whether an object has a trouble, or everybody.
func (t *troubles) has(what trouble, obj client.Object) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.of[what][client.ObjectKey{}] || t.of[what][client.ObjectKeyFromObject(obj)]
}

// onChange has wake called each time troubles begin or end.
func (t *troubles) onChange(wake func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wakes = append(t.wakes, wake)
}
