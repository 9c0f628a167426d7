// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// Turns serializes tasks that change the structure of the inventory. vcsim reads and changes its lists of children under
// different locks, and makes a new VM visible before it has a host or devices.
type Turns struct {
	turn sync.Mutex

	mu      sync.Mutex
	maker   *simulator.Context // the task that currently creates VMs
	unlocks []func()
}

// structural reports whether a task creates, removes or moves objects, or writes names, which vcsim reads without a lock to find
// objects.
func structural(method string) bool {
	switch method {
	case "CloneVM_Task", "CreateVM_Task", "RegisterVM_Task", "Destroy_Task", "RelocateVM_Task",
		"MoveIntoFolder_Task", "Rename_Task", "ReconfigVM_Task", "AddHost_Task", "AddDVPortgroup_Task", "ReconfigureDvs_Task":
		return true
	}
	return false
}

// enter waits for the turn of the task and returns a function that ends it.
func (t *Turns) enter(ctx *simulator.Context, r *Request) (leave func()) {
	if !structural(r.Method.Name) {
		return func() {}
	}
	t.turn.Lock()
	t.mu.Lock()
	t.maker = ctx
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		unlocks := t.unlocks
		t.maker, t.unlocks = nil, nil
		t.mu.Unlock()
		for _, unlock := range unlocks {
			unlock()
		}
		t.turn.Unlock()
	}
}

// Own takes a turn for a change outside of a task.
func (t *Turns) Own() (leave func()) {
	t.turn.Lock()
	return t.turn.Unlock
}

// Keep keeps a new VM locked for the task that creates it, until it is complete. The task already holds the lock when the VM is
// registered.
func (t *Turns) Keep(vm *simulator.VirtualMachine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.maker != nil {
		t.unlocks = append(t.unlocks, t.maker.Map.AcquireLock(t.maker, vm))
	}
}
