// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// TaskHooks provides the work that vCenter does around tasks, from the parts that they affect.
type TaskHooks struct {
	Inventory  *Inventory
	Hosts      *Hosts
	Datastores *Datastores
	DRS        *DRS
	Cloning    *Cloning
	Machines   *Machines
}

// For returns the work that vCenter does around the task of a call and vcsim does not. It may reject the call.
func (h TaskHooks) For(method *simulator.Method) (TaskWork, types.BaseMethodFault) {
	switch body := method.Body.(type) {
	case *types.CloneVM_Task:
		return h.Cloning.Clone(body)
	case *types.CreateVM_Task:
		return h.Cloning.Create(body)
	case *types.PowerOnVM_Task:
		return TaskWork{Before: func(ctx *simulator.Context) types.BaseMethodFault { return h.checkPowerOn(ctx, body.This) }}, nil
	case *types.PowerOffVM_Task:
		return taskBefore(func() types.BaseMethodFault { return h.Hosts.CheckPowerOff(body.This) }), nil
	case *types.ReconfigVM_Task:
		return h.reconfiguration(body), nil
	case *types.UpgradeVM_Task:
		return taskBefore(func() types.BaseMethodFault { return h.Hosts.CheckConnected(body.This) }), nil
	case *types.Destroy_Task:
		work := taskBefore(func() types.BaseMethodFault { return h.Hosts.CheckConnected(body.This) })
		work.Replace = func(ctx *simulator.Context) TaskBody { return h.Datastores.WithoutFiles(ctx, body.This) }
		return work, nil
	case *types.ReconfigureComputeResource_Task:
		return TaskWork{
			Precheck: func() types.BaseMethodFault { return h.DRS.Check(body) },
			After: taskAfter(func(ctx *simulator.Context) {
				h.DRS.RemoveDeletedVMs(body.This)
				h.DRS.Publish(ctx, body.This)
			}),
		}, nil
	case *types.EnterMaintenanceMode_Task, *types.ExitMaintenanceMode_Task, *types.DisconnectHost_Task, *types.ReconnectHost_Task:
		return TaskWork{After: taskAfter(func(ctx *simulator.Context) { h.Hosts.Publish(ctx, method.This) })}, nil
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

// checkPowerOn chooses a host for the locked VM, or rejects its power on.
func (h TaskHooks) checkPowerOn(ctx *simulator.Context, vm types.ManagedObjectReference) types.BaseMethodFault {
	if fault := h.Hosts.CheckConnected(vm); fault != nil {
		return fault
	}
	if fault := checkMemoryReserved(h.Inventory, vm); fault != nil {
		return fault
	}
	return h.DRS.Place(ctx, vm)
}

func (h TaskHooks) reconfiguration(body *types.ReconfigVM_Task) TaskWork {
	work := taskBefore(func() types.BaseMethodFault {
		if fault := h.Hosts.CheckConnected(body.This); fault != nil {
			return fault
		}
		return h.Machines.CheckReconfig(body)
	})
	work.After = taskAfter(func(ctx *simulator.Context) { h.Inventory.PublishConfig(ctx, body.This) })
	return work
}
