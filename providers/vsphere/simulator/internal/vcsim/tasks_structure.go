// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"sync"

	"github.com/vmware/govmomi/simulator"
)

// StructureLock serializes tasks that change the structure of the inventory. vcsim reads and changes its lists of children under
// different locks, and makes a new VM visible before it has a host or devices.
type StructureLock struct {
	structure sync.Mutex

	mu      sync.Mutex
	creator *simulator.Context // the task that currently creates VMs
	unlocks []func()
}

// changesStructure reports whether a task creates, removes or moves objects, or writes names, which vcsim reads without a lock to find
// objects.
func changesStructure(method string) bool {
	switch method {
	case "CloneVM_Task", "CreateVM_Task", "RegisterVM_Task", "Destroy_Task", "RelocateVM_Task",
		"MoveIntoFolder_Task", "Rename_Task", "ReconfigVM_Task", "AddHost_Task", "AddDVPortgroup_Task", "ReconfigureDvs_Task":
		return true
	}
	return false
}

// lockForTask locks the structure for a task that changes it, and returns a function that unlocks it.
func (t *StructureLock) lockForTask(ctx *simulator.Context, r *Request) (unlock func()) {
	if !changesStructure(r.Method.Name) {
		return func() {}
	}
	t.structure.Lock()
	t.mu.Lock()
	t.creator = ctx
	t.mu.Unlock()
	return func() {
		t.mu.Lock()
		unlocks := t.unlocks
		t.creator, t.unlocks = nil, nil
		t.mu.Unlock()
		for _, unlock := range unlocks {
			unlock()
		}
		t.structure.Unlock()
	}
}

// LockStructure locks the structure for a change outside of a task.
func (t *StructureLock) LockStructure() (unlock func()) {
	t.structure.Lock()
	return t.structure.Unlock
}

// LockNewVM keeps a new VM locked for the task that creates it, until it is complete. The task already holds the lock when the VM is
// registered.
func (t *StructureLock) LockNewVM(vm *simulator.VirtualMachine) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.creator != nil {
		t.unlocks = append(t.unlocks, t.creator.Map.AcquireLock(t.creator, vm))
	}
}
