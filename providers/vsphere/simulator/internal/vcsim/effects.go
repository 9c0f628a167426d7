// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Effects holds the parts of a vCenter that calls affect.
type Effects struct {
	Inventory  *Inventory
	Hosts      *Hosts
	Datastores *Datastores
	DRS        *DRS
	Cloning    *Cloning
	Machines   *Machines
}

// Of returns the work that vCenter does around the task of a call and vcsim does not. It may reject the call.
func (e Effects) Of(method *simulator.Method) (TaskWork, types.BaseMethodFault) {
	switch body := method.Body.(type) {
	case *types.CloneVM_Task:
		return e.Cloning.Clone(body)
	case *types.CreateVM_Task:
		return e.Cloning.Create(body)
	case *types.PowerOnVM_Task:
		return TaskWork{Before: func(ctx *simulator.Context) types.BaseMethodFault { return e.startable(ctx, body.This) }}, nil
	case *types.PowerOffVM_Task:
		return taskBefore(func() types.BaseMethodFault { return e.Hosts.Stoppable(body.This) }), nil
	case *types.ReconfigVM_Task:
		return e.reconfiguration(body), nil
	case *types.UpgradeVM_Task:
		return taskBefore(func() types.BaseMethodFault { return e.Hosts.Connected(body.This) }), nil
	case *types.Destroy_Task:
		work := taskBefore(func() types.BaseMethodFault { return e.Hosts.Connected(body.This) })
		work.Instead = func(ctx *simulator.Context) TaskBody { return e.Datastores.WithoutFiles(ctx, body.This) }
		return work, nil
	case *types.ReconfigureComputeResource_Task:
		return TaskWork{
			Ahead: func() types.BaseMethodFault { return e.DRS.Check(body) },
			After: taskAfter(func(ctx *simulator.Context) {
				e.DRS.DropGone(body.This)
				e.DRS.Publish(ctx, body.This)
			}),
		}, nil
	case *types.EnterMaintenanceMode_Task, *types.ExitMaintenanceMode_Task, *types.DisconnectHost_Task, *types.ReconnectHost_Task:
		return TaskWork{After: taskAfter(func(ctx *simulator.Context) { e.Hosts.Publish(ctx, method.This) })}, nil
	}
	return TaskWork{}, nil
}

// taskBefore returns work for a check that needs no context.
func taskBefore(refuse func() types.BaseMethodFault) TaskWork {
	return TaskWork{Before: func(*simulator.Context) types.BaseMethodFault { return refuse() }}
}

// taskAfter adapts a function that cannot fail.
func taskAfter(do func(*simulator.Context)) func(*simulator.Context, types.AnyType) types.BaseMethodFault {
	return func(ctx *simulator.Context, _ types.AnyType) types.BaseMethodFault {
		do(ctx)
		return nil
	}
}

// startable chooses a host for the locked VM, or rejects its power on.
func (e Effects) startable(ctx *simulator.Context, vm types.ManagedObjectReference) types.BaseMethodFault {
	if fault := e.Hosts.Connected(vm); fault != nil {
		return fault
	}
	if fault := memoryLocked(e.Inventory, vm); fault != nil {
		return fault
	}
	return e.DRS.Place(ctx, vm)
}

func (e Effects) reconfiguration(body *types.ReconfigVM_Task) TaskWork {
	work := taskBefore(func() types.BaseMethodFault {
		if fault := e.Hosts.Connected(body.This); fault != nil {
			return fault
		}
		return e.Machines.CheckReconfig(body)
	})
	work.After = taskAfter(func(ctx *simulator.Context) { e.Inventory.PublishConfig(ctx, body.This) })
	return work
}
