// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Tasks manages the tasks of a vCenter.
type Tasks struct {
	StructureLock
	*taskFaults

	inventory *Inventory
	manager   *types.ManagedObjectReference
}

// NewTasks returns Tasks without tasks. The manager is vcsim's.
func NewTasks(i *Inventory, manager *types.ManagedObjectReference) *Tasks {
	return &Tasks{taskFaults: newTaskFaults(), inventory: i, manager: manager}
}

// Running returns the tasks that have not ended, such as "CloneVM_Task task-12".
func (t *Tasks) Running() []string {
	var out []string
	for _, obj := range t.inventory.Registry.AllReference("Task") {
		task := obj.(*simulator.Task)
		t.inventory.WithLock(task, func() {
			if !taskFinished(task.Info) {
				out = append(out, task.Info.Name+" "+task.Self.Value)
			}
		})
	}
	return slices.Sorted(slices.Values(out))
}

// Forget removes ended tasks, as vCenter does after some time: they leave the list of recent tasks, and reading one returns
// ManagedObjectNotFound.
func (t *Tasks) Forget() {
	ctx := t.inventory.NewContext()
	var kept []types.ManagedObjectReference
	for _, obj := range t.inventory.Registry.AllReference("Task") {
		task, over := obj.(*simulator.Task), false
		ctx.WithLock(task, func() { over = taskFinished(task.Info) })
		if over {
			t.inventory.Registry.Remove(ctx, task.Self)
		} else {
			kept = append(kept, task.Self)
		}
	}
	manager, ok := Get[*simulator.TaskManager](t.inventory, t.manager)
	if !ok {
		return
	}
	ctx.WithLock(manager, func() {
		recent := slices.DeleteFunc(slices.Clone(manager.RecentTask), func(ref types.ManagedObjectReference) bool {
			return !slices.Contains(kept, ref)
		})
		ctx.Update(manager, []types.PropertyChange{{Name: "recentTask", Val: recent}})
	})
}
