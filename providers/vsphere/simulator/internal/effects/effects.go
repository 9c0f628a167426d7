// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package effects has what vCenter does around tasks, and vcsim does not.
package effects

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/cloning"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/datastores"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/drs"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/hosts"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/machines"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/passthrough"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/tasks"
)

// Effects are those on the parts of a vCenter.
type Effects struct {
	Inventory  *inventory.Inventory
	Hosts      *hosts.Hosts
	Datastores *datastores.Datastores
	DRS        *drs.DRS
	Cloning    *cloning.Cloning
	Machines   *machines.Machines
}

// Of is what vCenter does around the task that a call starts, and vcsim does not. It may refuse the call.
func (e Effects) Of(method *simulator.Method) (tasks.Work, types.BaseMethodFault) {
	switch body := method.Body.(type) {
	case *types.CloneVM_Task:
		return e.Cloning.Clone(body)
	case *types.CreateVM_Task:
		return e.Cloning.Create(body)
	case *types.PowerOnVM_Task:
		return tasks.Work{Before: func(ctx *simulator.Context) types.BaseMethodFault { return e.startable(ctx, body.This) }}, nil
	case *types.PowerOffVM_Task:
		return before(func() types.BaseMethodFault { return e.Hosts.Stoppable(body.This) }), nil
	case *types.ReconfigVM_Task:
		return e.reconfiguration(body), nil
	case *types.UpgradeVM_Task:
		return before(func() types.BaseMethodFault { return e.Hosts.Connected(body.This) }), nil
	case *types.Destroy_Task:
		work := before(func() types.BaseMethodFault { return e.Hosts.Connected(body.This) })
		work.Instead = func(ctx *simulator.Context) tasks.Body { return e.Datastores.WithoutFiles(ctx, body.This) }
		return work, nil
	case *types.ReconfigureComputeResource_Task:
		return tasks.Work{
			Ahead: func() types.BaseMethodFault { return e.DRS.Check(body) },
			After: after(func(ctx *simulator.Context) {
				e.DRS.DropGone(body.This)
				e.DRS.Publish(ctx, body.This)
			}),
		}, nil
	case *types.EnterMaintenanceMode_Task, *types.ExitMaintenanceMode_Task, *types.DisconnectHost_Task, *types.ReconnectHost_Task:
		return tasks.Work{After: after(func(ctx *simulator.Context) { e.Hosts.Publish(ctx, method.This) })}, nil
	}
	return tasks.Work{}, nil
}

// before is what needs no context.
func before(refuse func() types.BaseMethodFault) tasks.Work {
	return tasks.Work{Before: func(*simulator.Context) types.BaseMethodFault { return refuse() }}
}

// after is what cannot fail.
func after(do func(*simulator.Context)) func(*simulator.Context, types.AnyType) types.BaseMethodFault {
	return func(ctx *simulator.Context, _ types.AnyType) types.BaseMethodFault {
		do(ctx)
		return nil
	}
}

// startable finds a host for the locked VM, or refuses to power it on.
func (e Effects) startable(ctx *simulator.Context, vm types.ManagedObjectReference) types.BaseMethodFault {
	if fault := e.Hosts.Connected(vm); fault != nil {
		return fault
	}
	if fault := passthrough.MemoryLocked(e.Inventory, vm); fault != nil {
		return fault
	}
	return e.DRS.Place(ctx, vm)
}

func (e Effects) reconfiguration(body *types.ReconfigVM_Task) tasks.Work {
	work := before(func() types.BaseMethodFault {
		if fault := e.Hosts.Connected(body.This); fault != nil {
			return fault
		}
		return e.Machines.CheckReconfig(body)
	})
	work.After = after(func(ctx *simulator.Context) { e.Inventory.PublishConfig(ctx, body.This) })
	return work
}
