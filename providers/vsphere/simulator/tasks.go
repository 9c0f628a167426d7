// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/passthrough"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/tasks"
)

// work is what vCenter does around the task that a call starts, and vcsim does not. It may refuse the call.
func (s *Server) work(method *simulator.Method) (tasks.Work, types.BaseMethodFault) {
	switch body := method.Body.(type) {
	case *types.CloneVM_Task:
		return s.cloning.Clone(body)
	case *types.CreateVM_Task:
		return s.cloning.Create(body)
	case *types.PowerOnVM_Task:
		return tasks.Work{Before: func(ctx *simulator.Context) types.BaseMethodFault { return s.startable(ctx, body.This) }}, nil
	case *types.PowerOffVM_Task:
		return before(func() types.BaseMethodFault { return s.hosts.Stoppable(body.This) }), nil
	case *types.ReconfigVM_Task:
		return s.reconfiguration(body), nil
	case *types.UpgradeVM_Task:
		return before(func() types.BaseMethodFault { return s.hosts.Connected(body.This) }), nil
	case *types.Destroy_Task:
		work := before(func() types.BaseMethodFault { return s.hosts.Connected(body.This) })
		work.Instead = func(ctx *simulator.Context) tasks.Body { return s.datastores.WithoutFiles(ctx, body.This) }
		return work, nil
	case *types.ReconfigureComputeResource_Task:
		return tasks.Work{
			Ahead: func() types.BaseMethodFault { return s.drs.Check(body) },
			After: after(func(ctx *simulator.Context) {
				s.drs.DropGone(body.This)
				s.drs.Publish(ctx, body.This)
			}),
		}, nil
	case *types.EnterMaintenanceMode_Task, *types.ExitMaintenanceMode_Task, *types.DisconnectHost_Task, *types.ReconnectHost_Task:
		return tasks.Work{After: after(func(ctx *simulator.Context) { s.hosts.Publish(ctx, method.This) })}, nil
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
func (s *Server) startable(ctx *simulator.Context, vm types.ManagedObjectReference) types.BaseMethodFault {
	if fault := s.hosts.Connected(vm); fault != nil {
		return fault
	}
	if fault := passthrough.MemoryLocked(s.inventory, vm); fault != nil {
		return fault
	}
	return s.drs.Place(ctx, vm)
}

func (s *Server) reconfiguration(body *types.ReconfigVM_Task) tasks.Work {
	work := before(func() types.BaseMethodFault {
		if fault := s.hosts.Connected(body.This); fault != nil {
			return fault
		}
		return s.machines.CheckReconfig(body)
	})
	work.After = after(func(ctx *simulator.Context) { s.inventory.PublishConfig(ctx, body.This) })
	return work
}
