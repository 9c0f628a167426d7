// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"fmt"
	"reflect"
	"runtime"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Adopt makes a task that a client started run under the server's rules: it can
// be held, delayed and failed, and it ends with the message that vCenter has for a
// fault. It is called between the task's creation and its start.
func (t *Tasks) Adopt(task *simulator.Task) {
	ctx := contextOf(task)
	r := requestOf(ctx)
	if r == nil || task.Execute == nil {
		return
	}
	if r.claimed.Swap(true) {
		r.part(task)
		task.Execute = guardedBody(r, task.Execute)
		return
	}
	name := t.inventory.Label(ctx, *task.Info.Entity) // vcsim's history keeps the reference
	t.inventory.Locked(task, func() { task.Info.Name, task.Info.EntityName = r.Method.Name, name })
	a := &adoptedTask{tasks: t, ctx: ctx, request: r, task: task, run: task.Execute, entity: *task.Info.Entity}
	task.Execute = a.execute
}

// contextOf returns the context that a task runs in. It owns the lock of the
// task's object, which has to be given back while the task is held; vcsim keeps it
// in an unexported field.
func contextOf(task *simulator.Task) *simulator.Context {
	field := reflect.ValueOf(task).Elem().FieldByName("ctx")
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(*simulator.Context)
}

// adoptedTask is one task of a client.
type adoptedTask struct {
	tasks   *Tasks
	ctx     *simulator.Context
	request *Request
	task    *simulator.Task
	run     TaskBody
	entity  types.ManagedObjectReference
}

// execute runs on the task's own goroutine, with its object locked.
func (a *adoptedTask) execute(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
	a.handBack()
	fault := a.request.Work.Fault
	if injected := a.tasks.pass(a.request); injected != nil {
		fault = injected
	}
	if ahead := a.request.Work.Ahead; ahead != nil && fault == nil {
		fault = ahead()
	}
	if fault != nil {
		a.fail(fault)
	}
	defer a.tasks.enter(a.ctx, a.request)()
	defer a.request.wait()
	unlock := a.tasks.inventory.Registry.AcquireLock(a.ctx, a.entity)
	if a.tasks.inventory.Registry.Get(a.entity) == nil {
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
func (a *adoptedTask) handBack() {
	unlock := a.tasks.inventory.Registry.AcquireLock(a.ctx, a.entity)
	unlock() // what this function took
	unlock() // what the task was given
}

// perform turns a panic of vcsim, its way to say that an object is missing, into
// a failed task.
func (a *adoptedTask) perform(task *simulator.Task) (result types.AnyType, fault types.BaseMethodFault) {
	return guardedBody(a.request, a.carryOut)(task)
}

// guardedBody is a task's body whose panics are faults. What a task starts itself needs it too: the files of a server that
// closes go while a machine is being made.
func guardedBody(r *Request, run TaskBody) TaskBody {
	return func(task *simulator.Task) (result types.AnyType, fault types.BaseMethodFault) {
		defer func() {
			if p := recover(); p != nil {
				fault = SystemFault(fmt.Sprintf("simulator: %s: %v", r.Method.Name, p))
			}
		}()
		return run(task)
	}
}

// carryOut has vcsim do what the task is for, with what vCenter does before and after it.
func (a *adoptedTask) carryOut(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
	work := a.request.Work
	if work.Before != nil {
		if fault := work.Before(a.ctx); fault != nil {
			return nil, fault
		}
	}
	run := a.run
	if work.Instead != nil {
		if other := work.Instead(a.ctx); other != nil {
			run = other
		}
	}
	result, fault := run(task)
	if fault != nil || work.After == nil {
		return result, fault
	}
	return result, work.After(a.ctx, result)
}

// fail ends the task and its goroutine. Were it to return the fault, vcsim would
// report the name of a Go type as the message.
func (a *adoptedTask) fail(fault types.BaseMethodFault) {
	i := a.tasks.inventory
	i.Registry.AtomicUpdate(i.Call(), a.task, []types.PropertyChange{
		{Name: "info.completeTime", Val: time.Now()},
		{Name: "info.state", Val: types.TaskInfoStateError},
		{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: faultMessage(fault)}},
	})
	runtime.Goexit()
}
