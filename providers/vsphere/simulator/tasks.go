// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vimfault"
)

// adopt makes a task that a client started run under the server's rules: it can
// be held, delayed and failed, and it ends with the message that vCenter has for a
// fault. It is called between the task's creation and its start.
func (s *Server) adopt(task *simulator.Task) {
	ctx := contextOf(task)
	r := requestOf(ctx)
	if r == nil || task.Execute == nil {
		return
	}
	if r.claimed.Swap(true) {
		r.part(task)
		task.Execute = guarded(r, task.Execute)
		return
	}
	name := s.refName(ctx, *task.Info.Entity) // vcsim's history keeps the reference
	s.registry.WithLock(s.call(), task, func() { task.Info.Name, task.Info.EntityName = r.method.Name, name })
	a := &adopted{server: s, ctx: ctx, request: r, task: task, run: task.Execute, entity: *task.Info.Entity}
	task.Execute = a.execute
}

// contextOf returns the context that a task runs in. It owns the lock of the
// task's object, which has to be given back while the task is held; vcsim keeps it
// in an unexported field.
func contextOf(task *simulator.Task) *simulator.Context {
	field := reflect.ValueOf(task).Elem().FieldByName("ctx")
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(*simulator.Context)
}

// taskBody is what a task does.
type taskBody = func(*simulator.Task) (types.AnyType, types.BaseMethodFault)

// adopted is one task of a client.
type adopted struct {
	server  *Server
	ctx     *simulator.Context
	request *request
	task    *simulator.Task
	run     taskBody
	entity  types.ManagedObjectReference
}

// execute runs on the task's own goroutine, with its object locked.
func (a *adopted) execute(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
	a.handBack()
	fault := a.request.fault
	if injected := a.server.tasks.pass(a.request); injected != nil {
		fault = injected
	}
	if body, ok := a.request.method.Body.(*types.ReconfigureComputeResource_Task); ok && fault == nil {
		fault = a.server.checkGroups(body)
	}
	if fault != nil {
		a.fail(fault)
	}
	defer a.server.structure.enter(a.ctx, a.request)()
	defer a.request.wait()
	unlock := a.server.registry.AcquireLock(a.ctx, a.entity)
	if a.server.registry.Get(a.entity) == nil {
		unlock()
		a.fail(&types.ManagedObjectNotFound{Obj: a.entity})
	}
	result, fault := a.perform(task)
	if fault != nil {
		unlock()
		a.fail(fault)
	}
	return result, nil // the task gives the lock back
}

// handBack unlocks the object, which vcsim locks when it makes the task. Nobody
// could look at it as long as the task is held.
func (a *adopted) handBack() {
	unlock := a.server.registry.AcquireLock(a.ctx, a.entity)
	unlock() // what this function took
	unlock() // what the task was given
}

// perform turns a panic of vcsim, its way to say that an object is missing, into
// a failed task.
func (a *adopted) perform(task *simulator.Task) (result types.AnyType, fault types.BaseMethodFault) {
	return guarded(a.request, a.carryOut)(task)
}

// guarded is a task's body whose panics are faults. What a task starts itself needs it too: the files of a server that
// closes go while a machine is being made.
func guarded(r *request, run taskBody) taskBody {
	return func(task *simulator.Task) (result types.AnyType, fault types.BaseMethodFault) {
		defer func() {
			if p := recover(); p != nil {
				fault = vimfault.System(fmt.Sprintf("simulator: %s: %v", r.method.Name, p))
			}
		}()
		return run(task)
	}
}

// carryOut has vcsim do what the task is for, with what vCenter does before and after it.
func (a *adopted) carryOut(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
	if fault := a.server.prepare(a.ctx, a.request); fault != nil {
		return nil, fault
	}
	run := a.run
	if destroy, ok := a.request.method.Body.(*types.Destroy_Task); ok {
		if other := a.server.withoutFiles(a.ctx, destroy.This); other != nil {
			run = other
		}
	}
	result, fault := run(task)
	if fault != nil {
		return nil, fault
	}
	return result, a.server.complete(a.ctx, a.request, result)
}

// fail ends the task and its goroutine. Were it to return the fault, vcsim would
// report the name of a Go type as the message.
func (a *adopted) fail(fault types.BaseMethodFault) {
	s := a.server
	s.registry.AtomicUpdate(s.call(), a.task, []types.PropertyChange{
		{Name: "info.completeTime", Val: time.Now()},
		{Name: "info.state", Val: types.TaskInfoStateError},
		{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: vimfault.Message(fault)}},
	})
	runtime.Goexit()
}

// prepare is what vCenter does and vcsim does not, ahead of a task. The task's
// object is locked.
func (s *Server) prepare(ctx *simulator.Context, r *request) types.BaseMethodFault {
	switch body := r.method.Body.(type) {
	case *types.CloneVM_Task:
		return s.checkClone(ctx, r, body)
	case *types.CreateVM_Task:
		return s.checkName(ctx, body.This, body.Config.Name)
	case *types.PowerOnVM_Task:
		if fault := s.connected(body.This); fault != nil {
			return fault
		}
		if fault := s.memoryLocked(body.This); fault != nil {
			return fault
		}
		return s.placeForPowerOn(ctx, body.This)
	case *types.PowerOffVM_Task:
		return s.stoppable(body.This)
	case *types.ReconfigVM_Task:
		if fault := s.connected(body.This); fault != nil {
			return fault
		}
		return s.checkReconfig(body)
	case *types.UpgradeVM_Task:
		return s.connected(body.This)
	case *types.Destroy_Task:
		return s.connected(body.This)
	}
	return nil
}

// complete is prepare's counterpart after a task that succeeded.
func (s *Server) complete(ctx *simulator.Context, r *request, result types.AnyType) types.BaseMethodFault {
	switch body := r.method.Body.(type) {
	case *types.CloneVM_Task:
		return s.completeClone(ctx, r, body, result.(types.ManagedObjectReference))
	case *types.ReconfigVM_Task:
		s.publishConfig(ctx, body.This)
	case *types.ReconfigureComputeResource_Task:
		s.dropGone(body.This)
		s.publishGroups(ctx, body.This)
	case *types.EnterMaintenanceMode_Task, *types.ExitMaintenanceMode_Task, *types.DisconnectHost_Task, *types.ReconnectHost_Task:
		s.publishHost(ctx, r.method.This)
	}
	return nil
}

// publishHost tells clients of what vcsim has changed of a host without a word.
func (s *Server) publishHost(ctx *simulator.Context, ref types.ManagedObjectReference) {
	host, ok := get[*simulator.HostSystem](s, &ref)
	if !ok {
		return
	}
	s.maintenance(ctx, host, host.Runtime.InMaintenanceMode)
	s.connection(ctx, host, host.Runtime.ConnectionState)
}
