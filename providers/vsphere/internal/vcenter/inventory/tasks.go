// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package inventory

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// TaskState is the state of a task, in vCenter's terms.
type TaskState string

// States of a task.
const (
	TaskQueued  TaskState = "queued"
	TaskRunning TaskState = "running"
	TaskSuccess TaskState = "success"
	TaskError   TaskState = "error"
)

// Task is a task on vCenter, including tasks started by other clients.
type Task struct {
	Ref    string
	State  TaskState
	Method string // such as VirtualMachine.clone
	Entity string // reference of the object it works on; for a clone, the template
	Result string // reference of the object it created, if any
	Err    error  // why it failed: matches ErrTaskFailed and, where it applies, ErrDuplicateName, ErrNotFound or ErrForbidden

	EntityRef, ResultRef Ref
	ended                time.Time // when the session learned of its end
}

// Done reports whether the task has ended.
func (t Task) Done() bool { return t.State == TaskSuccess || t.State == TaskError }

// Set applies a property.
func (t *Task) Set(property string, value types.AnyType) {
	switch property {
	case "info.state":
		t.State = TaskState(As[types.TaskInfoState](value))
	case "info.descriptionId":
		t.Method = As[string](value)
	case "info.entity":
		t.EntityRef = As[Ref](value)
		t.Entity = RefString(t.EntityRef)
	case "info.result":
		t.ResultRef = As[Ref](value) // results of other types are not needed
		t.Result = RefString(t.ResultRef)
	case "info.error":
		if failure, ok := value.(types.LocalizedMethodFault); ok {
			t.Err = vcerrors.OfTask(failure)
		}
	}
}

func (ix *Index) applyTask(update types.ObjectUpdate, gone bool, c *Changes) {
	task := ix.tasks[update.Obj]
	if task.Done() { // afterwards it leaves the view, and finally vCenter
		return
	}
	if gone {
		if _, known := ix.tasks[update.Obj]; known {
			delete(ix.tasks, update.Obj)
			ix.finish(update.Obj, task, c) // waiters must ask vCenter
		}
		return
	}
	task.Ref = update.Obj.Value
	for _, change := range update.ChangeSet {
		task.Set(change.Name, change.Val)
	}
	if task.State == TaskError && task.Err == nil {
		task.Err = fmt.Errorf("%w: vCenter does not report a reason", vcerrors.ErrTaskFailed)
	}
	if task.Done() {
		task.ended = time.Now()
		ix.finish(update.Obj, task, c)
	}
	ix.tasks[update.Obj] = task
}

func (ix *Index) finish(r Ref, task Task, c *Changes) {
	c.Tasks = append(c.Tasks, task)
	if waiter, ok := ix.waiting[r]; ok {
		waiter <- task
		delete(ix.waiting, r)
	}
}

// AddIncomplete queues a new virtual machine to be read. It reports whether the queue was empty.
func (ix *Index) AddIncomplete(r Ref) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.incomplete = append(ix.incomplete, r)
	return len(ix.incomplete) == 1
}

// TakeIncomplete returns the queued virtual machines that exist and are still incomplete. They stay in the queue.
func (ix *Index) TakeIncomplete() []Ref {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.incomplete = slices.DeleteFunc(ix.incomplete, func(r Ref) bool {
		known, complete := ix.whole(r)
		return !known || complete
	})
	return slices.Clone(ix.incomplete)
}

// Completeness reports whether a new virtual machine exists, and whether it has all required properties.
func (ix *Index) Completeness(r Ref) (known, complete bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.whole(r)
}

func (ix *Index) whole(r Ref) (known, complete bool) {
	m, known := ix.VMs[r]
	return known, known && m.host != (Ref{}) && m.InstanceUUID != "" && (m.Template || m.pool != (Ref{}))
}

// Track records a running task. It returns false if the task is already known.
func (ix *Index) Track(r Ref, task Task) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if _, known := ix.tasks[r]; known {
		return false
	}
	ix.tasks[r] = task
	return true
}

// LoseTask ends a task that vCenter does not have any more. Its waiters must ask vCenter.
func (ix *Index) LoseTask(r Ref) Changes {
	return ix.Apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
		ObjectSet: []types.ObjectUpdate{{Kind: types.ObjectUpdateKindLeave, Obj: r}},
	}}})
}

// TasksUnderWay returns the followed tasks that have not ended.
func (ix *Index) TasksUnderWay() []Ref {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var underWay []Ref
	for r, task := range ix.tasks {
		if !task.Done() {
			underWay = append(underWay, r)
		}
	}
	slices.SortFunc(underWay, CompareRefs)
	return underWay
}

// ForgetTasks drops the tasks that ended longer ago than age.
func (ix *Index) ForgetTasks(age time.Duration) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for r, task := range ix.tasks {
		if task.Done() && time.Since(task.ended) > age {
			delete(ix.tasks, r)
		}
	}
}

// Task returns a followed task.
func (ix *Index) Task(r Ref) (Task, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	task, ok := ix.tasks[r]
	return task, ok
}

// AwaitTask waits until a followed task has ended or is lost, and returns it. It returns immediately if the task is not
// followed.
func (ix *Index) AwaitTask(ctx context.Context, r Ref) (Task, error) {
	done := make(chan Task, 1)
	ix.mu.Lock()
	task, followed := ix.tasks[r]
	ix.waiting[r] = done
	ix.mu.Unlock()
	defer func() {
		ix.mu.Lock()
		delete(ix.waiting, r)
		ix.mu.Unlock()
	}()
	if task.Done() || !followed {
		return task, nil
	}
	select {
	case task = <-done:
		return task, nil
	case <-ctx.Done():
		return Task{}, ctx.Err()
	}
}

// About returns the virtual machine of a task: the one that it created, or worked on.
func (ix *Index) About(task Task) (VM, bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	about := task.EntityRef
	if task.ResultRef.Type == "VirtualMachine" {
		about = task.ResultRef
	}
	m, ok := ix.VMs[about]
	if !ok {
		return VM{}, false
	}
	return VM{Ref: m.Ref.String(), InstanceUUID: m.InstanceUUID, BiosUUID: m.BiosUUID, Name: m.Name}, true
}
