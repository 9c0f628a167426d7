// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"reflect"
	"slices"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// historyPage and maxHistoryPage are vCenter's default and maximum number of tasks in a page of the history.
	historyPage, maxHistoryPage = 10, 1000
	// maxHistories is vCenter's maximum number of history collectors for a client.
	maxHistories = 32
)

// History creates task history collectors in place of the task manager. Those of vcsim read tasks while they are being changed.
type History struct {
	mo.TaskManager // vcsim inspects all registered objects

	inventory *Inventory
}

// NewHistory returns the history of the tasks in an inventory.
func NewHistory(i *Inventory) *History {
	h := &History{inventory: i}
	h.Self = types.ManagedObjectReference{Type: "Simulator", Value: "history"}
	return h
}

// CreateCollectorForTasks creates a collector for the session. Tasks can only be filtered by state.
func (h *History) CreateCollectorForTasks(ctx *simulator.Context, req *types.CreateCollectorForTasks) soap.HasFault {
	if !reflect.DeepEqual(req.Filter, types.TaskFilterSpec{State: req.Filter.State}) {
		return historyFault(&types.NotSupported{})
	}
	if len(ctx.Session.AllReference("TaskHistoryCollector")) >= maxHistories {
		return historyFault(&types.InvalidState{})
	}
	made := &historyCollector{inventory: h.inventory, states: req.Filter.State, size: historyPage}
	made.Self.Type = "TaskHistoryCollector"
	made.Filter = req.Filter
	return &methods.CreateCollectorForTasksBody{
		Res: &types.CreateCollectorForTasksResponse{Returnval: ctx.Session.Put(made).Reference()},
	}
}

func historyFault(fault types.BaseMethodFault) soap.HasFault {
	return &methods.CreateCollectorForTasksBody{Fault_: simulator.Fault(faultMessage(fault), fault)}
}

// historyCollector returns the tasks in certain states at the time it is read. It reports no changes.
type historyCollector struct {
	mo.TaskHistoryCollector

	inventory *Inventory
	states    []types.TaskInfoState // empty means all
	size      int
}

// SetCollectorPageSize sets the number of returned tasks; 0 means vCenter's default.
func (c *historyCollector) SetCollectorPageSize(_ *simulator.Context, req *types.SetCollectorPageSize) soap.HasFault {
	if req.MaxCount < 0 || req.MaxCount > maxHistoryPage {
		fault := &types.InvalidArgument{InvalidProperty: "maxCount"}
		return &methods.SetCollectorPageSizeBody{Fault_: simulator.Fault(faultMessage(fault), fault)}
	}
	if c.size = int(req.MaxCount); c.size == 0 {
		c.size = historyPage
	}
	return &methods.SetCollectorPageSizeBody{Res: &types.SetCollectorPageSizeResponse{}}
}

// DestroyCollector removes the collector from the session.
func (c *historyCollector) DestroyCollector(ctx *simulator.Context, req *types.DestroyCollector) soap.HasFault {
	ctx.Session.Remove(ctx, req.This)
	return &methods.DestroyCollectorBody{Res: &types.DestroyCollectorResponse{}}
}

// Get returns the object from which vcsim reads the properties: a copy with the latest tasks, newest first.
func (c *historyCollector) Get() mo.Reference {
	shown := c.TaskHistoryCollector
	for _, obj := range c.inventory.Registry.AllReference("Task") {
		task := obj.(*simulator.Task)
		c.inventory.WithLock(task, func() {
			if len(c.states) == 0 || slices.Contains(c.states, task.Info.State) {
				shown.LatestPage = append(shown.LatestPage, task.Info)
			}
		})
	}
	slices.SortFunc(shown.LatestPage, func(a, b types.TaskInfo) int { return b.QueueTime.Compare(a.QueueTime) })
	shown.LatestPage = shown.LatestPage[:min(c.size, len(shown.LatestPage))]
	return &shown
}
