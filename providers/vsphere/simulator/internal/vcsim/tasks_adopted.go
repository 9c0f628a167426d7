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

// Adopt makes a client's task subject to the server's faults: it can be held, delayed and failed, and its faults have vCenter's
// messages. It is called between the task's creation and its start.
func (t *Tasks) Adopt(task *simulator.Task) {
	ctx := contextOf(task)
	r := requestOf(ctx)
	if r == nil || task.Execute == nil {
		return
	}
	if r.claimed.Swap(true) {
		r.addSubtask(task)
		task.Execute = guardedBody(r, task.Execute)
		return
	}
	name := t.inventory.Label(ctx, *task.Info.Entity) // vcsim's history uses the reference
	t.inventory.WithLock(task, func() { task.Info.Name, task.Info.EntityName = r.Method.Name, name })
	a := &adoptedTask{tasks: t, ctx: ctx, request: r, task: task, run: task.Execute, entity: *task.Info.Entity}
	task.Execute = a.execute
}

// contextOf returns the context of a task. It owns the lock of the task's object, which must be released while the task is held;
// vcsim keeps it in an unexported field.
func contextOf(task *simulator.Task) *simulator.Context {
	field := reflect.ValueOf(task).Elem().FieldByName("ctx")
	return reflect.NewAt(field.Type(), field.Addr().UnsafePointer()).Elem().Interface().(*simulator.Context)
}

// adoptedTask is a task of a client.
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
	a.releaseObject()
	fault := a.request.Work.Fault
	if injected := a.tasks.apply(a.request); injected != nil {
		fault = injected
	}
	if ahead := a.request.Work.Precheck; ahead != nil && fault == nil {
		fault = ahead()
	}
	if fault != nil {
		a.fail(fault)
	}
	defer a.tasks.lockForTask(a.ctx, a.request)()
	defer a.request.waitForSubtasks()
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
	return result, nil // the task releases the lock
}

// releaseObject unlocks the object, which vcsim locks when it creates the task. Otherwise the object could not be read while the task
// is held.
func (a *adoptedTask) releaseObject() {
	unlock := a.tasks.inventory.Registry.AcquireLock(a.ctx, a.entity)
	unlock() // acquired by this function
	unlock() // acquired for the task
}

// perform converts a panic of vcsim, which it raises for missing objects, to a failed task.
func (a *adoptedTask) perform(task *simulator.Task) (result types.AnyType, fault types.BaseMethodFault) {
	return guardedBody(a.request, a.executeWork)(task)
}

// guardedBody converts panics of a task's body to faults. Subtasks need it, too: the files of a closing server are deleted while
// a machine is being created.
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

// executeWork executes the task in vcsim, with the work that vCenter does before and after it.
func (a *adoptedTask) executeWork(task *simulator.Task) (types.AnyType, types.BaseMethodFault) {
	work := a.request.Work
	if work.Before != nil {
		if fault := work.Before(a.ctx); fault != nil {
			return nil, fault
		}
	}
	run := a.run
	if work.Replace != nil {
		if other := work.Replace(a.ctx); other != nil {
			run = other
		}
	}
	result, fault := run(task)
	if fault != nil || work.After == nil {
		return result, fault
	}
	return result, work.After(a.ctx, result)
}

// fail ends the task and its goroutine. If it returned the fault, vcsim would report the name of a Go type as the message.
func (a *adoptedTask) fail(fault types.BaseMethodFault) {
	i := a.tasks.inventory
	i.Registry.AtomicUpdate(i.NewContext(), a.task, []types.PropertyChange{
		{Name: "info.completeTime", Val: time.Now()},
		{Name: "info.state", Val: types.TaskInfoStateError},
		{Name: "info.error", Val: types.LocalizedMethodFault{Fault: fault, LocalizedMessage: faultMessage(fault)}},
	})
	runtime.Goexit()
}
