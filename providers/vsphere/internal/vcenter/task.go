// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// TaskState is how far a task is, in vCenter's words.
type TaskState string

// States of a task.
const (
	TaskQueued  TaskState = "queued"
	TaskRunning TaskState = "running"
	TaskSuccess TaskState = "success"
	TaskError   TaskState = "error"
)

// Task is a task on vCenter, whoever started it.
type Task struct {
	Ref    string
	State  TaskState
	Method string // such as VirtualMachine.clone
	Entity string // reference of what it works on; of a clone, the template
	Result string // reference of what it made, if anything
	Err    error  // why it failed: matches ErrTaskFailed and, where it applies, ErrDuplicateName, ErrNotFound or ErrForbidden

	entity, result ref
	ended          time.Time // when the session learnt of its end
}

// Done says whether the task has ended.
func (t Task) Done() bool { return t.State == TaskSuccess || t.State == TaskError }

// Task returns a task that the session follows: one that it has started or was asked about, until some minutes after it
// ended. False means that it is not, or no longer, followed: LookupTask asks vCenter.
func (s *Session) Task(taskRef string) (Task, bool) {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	task, ok := s.index.tasks[parseRef("Task", taskRef)]
	return task, ok
}

// LookupTask asks vCenter for a task, and follows it if it is under way. ErrNotFound means that vCenter has forgotten it.
func (s *Session) LookupTask(ctx context.Context, taskRef string) (Task, error) {
	r := parseRef("Task", taskRef)
	var task Task
	err := s.retrieve(ctx, "reading task "+r.Value, r, taskProperties(), func(properties []types.DynamicProperty) {
		task.Ref = r.Value
		for _, p := range properties {
			task.set(p.Name, p.Val)
		}
	})
	if err == nil && !task.Done() {
		s.followTask(r, task)
	}
	return task, err
}

func (t *Task) set(property string, value types.AnyType) {
	switch property {
	case "info.state":
		t.State = TaskState(as[types.TaskInfoState](value))
	case "info.descriptionId":
		t.Method = as[string](value)
	case "info.entity":
		t.entity = as[ref](value)
		t.Entity = refString(t.entity)
	case "info.result":
		t.result = as[ref](value) // the results of other kinds are of no use here
		t.Result = refString(t.result)
	case "info.error":
		if failure, ok := value.(types.LocalizedMethodFault); ok {
			t.Err = taskError(failure)
		}
	}
}

func (ix *index) applyTask(update types.ObjectUpdate, gone bool, c *changes) {
	task := ix.tasks[update.Obj]
	if task.Done() { // what follows is that it leaves the view, and at last vCenter
		return
	}
	if gone {
		if _, known := ix.tasks[update.Obj]; known {
			delete(ix.tasks, update.Obj)
			ix.finish(update.Obj, task, c) // whoever waits for it must ask vCenter
		}
		return
	}
	task.Ref = update.Obj.Value
	for _, change := range update.ChangeSet {
		task.set(change.Name, change.Val)
	}
	if task.State == TaskError && task.Err == nil {
		task.Err = fmt.Errorf("%w: vCenter gives no reason", ErrTaskFailed)
	}
	if task.Done() {
		task.ended = time.Now()
		ix.finish(update.Obj, task, c)
	}
	ix.tasks[update.Obj] = task
}

func (ix *index) finish(r ref, task Task, c *changes) {
	c.tasks = append(c.tasks, task)
	if waiter, ok := ix.waiting[r]; ok {
		waiter <- task
		delete(ix.waiting, r)
	}
}

// await waits for a task that the session has started for several callers, never for one on a caller's behalf.
func (s *Session) await(ctx context.Context, taskRef string) (Task, error) {
	task, err := s.awaitEnd(ctx, parseRef("Task", taskRef))
	if err == nil && !task.Done() {
		return s.LookupTask(ctx, taskRef)
	}
	return task, err
}

func (s *Session) awaitEnd(ctx context.Context, r ref) (Task, error) {
	done := make(chan Task, 1)
	s.index.mu.Lock()
	task, followed := s.index.tasks[r]
	s.index.waiting[r] = done
	s.index.mu.Unlock()
	defer func() {
		s.index.mu.Lock()
		delete(s.index.waiting, r)
		s.index.mu.Unlock()
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

// taskEvent names the virtual machine that a task was about, so that its owner is woken even if it did not have the
// time to note the task.
func (s *Session) taskEvent(task Task) Event {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	e := Event{Kind: TaskDone, Task: task.Ref}
	about := task.entity
	if task.result.Type == "VirtualMachine" {
		about = task.result
	}
	if m, ok := s.index.vms[about]; ok {
		e.VM, e.InstanceUUID, e.BiosUUID, e.Name = m.ref.String(), m.instanceUUID, m.biosUUID, m.name
	}
	return e
}

// cloneSettles is what the stream may take to show the whole of a new virtual machine.
const cloneSettles = time.Second

// completeClone has a new virtual machine read that the stream has shown half finished and does not complete: one call for
// all of a short time.
func (s *Session) completeClone(task Task) {
	made := task.result
	if task.State != TaskSuccess || made.Type != "VirtualMachine" {
		return
	}
	if known, complete := s.index.completeness(made); known && complete || !s.index.addIncomplete(made) {
		return
	}
	s.background(func(ctx context.Context) {
		pause(ctx, cloneSettles)
		for range 3 {
			if unseen := s.index.takeIncomplete(); len(unseen) == 0 || ctx.Err() != nil {
				return
			} else if err := s.refreshAll(ctx, unseen); err != nil {
				s.opts.Log.Debug("reading new virtual machines", "server", s.server, "error", err)
			}
			pause(ctx, cloneSettles)
		}
	})
}

// addIncomplete reports whether nobody has been told to read such virtual machines yet.
func (ix *index) addIncomplete(r ref) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.incomplete = append(ix.incomplete, r)
	return len(ix.incomplete) == 1
}

// takeIncomplete returns the new virtual machines that are there and still lack something, and keeps those in mind.
func (ix *index) takeIncomplete() []ref {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	ix.incomplete = slices.DeleteFunc(ix.incomplete, func(r ref) bool {
		known, complete := ix.whole(r)
		return !known || complete
	})
	return slices.Clone(ix.incomplete)
}

// completeness says whether a new virtual machine is there, and whether it has all that it must have.
func (ix *index) completeness(r ref) (known, complete bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	return ix.whole(r)
}

func (ix *index) whole(r ref) (known, complete bool) {
	m, known := ix.vms[r]
	return known, known && m.host != (ref{}) && m.instanceUUID != "" && (m.template || m.pool != (ref{}))
}

// refresh reads an object into the index ahead of the stream, unless the stream was faster.
func (s *Session) refresh(ctx context.Context, r ref, properties []string) error {
	revision := s.index.revision(r)
	update := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: r}
	err := s.retrieve(ctx, "reading "+r.String(), r, properties, func(values []types.DynamicProperty) {
		update.ChangeSet = assigned(values)
	})
	if err == nil {
		s.report(s.index.applyAt(revision, update))
	}
	return err
}

// refreshAll is refresh for whole virtual machines.
func (s *Session) refreshAll(ctx context.Context, vms []ref) error {
	revisions := map[ref]int{}
	for _, r := range vms {
		revisions[r] = s.index.revision(r)
	}
	read, err := s.retrieveAll(ctx, "reading new virtual machines", vms, vmProperties())
	for r, properties := range read {
		s.report(s.index.applyAt(revisions[r], entering(r, properties)))
	}
	return err
}

// entering is the update that shows all of an object.
func entering(r ref, properties []types.DynamicProperty) types.ObjectUpdate {
	return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: r, ChangeSet: assigned(properties)}
}

func assigned(properties []types.DynamicProperty) []types.PropertyChange {
	var set []types.PropertyChange
	for _, p := range properties {
		set = append(set, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
	}
	return set
}

// retrieveAll reads properties of objects of one kind. Those that are gone are left out.
func (s *Session) retrieveAll(ctx context.Context, doing string, refs []ref, properties []string) (map[ref][]types.DynamicProperty, error) {
	spec := types.PropertyFilterSpec{
		PropSet:                       []types.PropertySpec{{Type: refs[0].Type, PathSet: properties}},
		ReportMissingObjectsInResults: types.NewBool(true),
	}
	for _, r := range refs {
		spec.ObjectSet = append(spec.ObjectSet, types.ObjectSpec{Obj: r})
	}
	read := map[ref][]types.DynamicProperty{}
	err := s.call(ctx, doing, func(ctx context.Context, rt soap.RoundTripper) error {
		objects, err := mo.RetrievePropertiesEx(ctx, rt, types.RetrievePropertiesEx{
			This: s.client.ServiceContent.PropertyCollector, SpecSet: []types.PropertyFilterSpec{spec},
		})
		for _, object := range objects {
			read[object.Obj] = object.PropSet
		}
		return err
	})
	return read, err
}

// retrieve reads properties of one object: one call. An object that is gone is ErrNotFound.
func (s *Session) retrieve(ctx context.Context, doing string, r ref, properties []string, use func([]types.DynamicProperty)) error {
	return s.call(ctx, doing, func(ctx context.Context, rt soap.RoundTripper) error {
		res, err := methods.RetrievePropertiesEx(ctx, rt, &types.RetrievePropertiesEx{
			This: s.client.ServiceContent.PropertyCollector,
			SpecSet: []types.PropertyFilterSpec{{
				PropSet:   []types.PropertySpec{{Type: r.Type, PathSet: properties}},
				ObjectSet: []types.ObjectSpec{{Obj: r}},
			}},
		})
		if err != nil {
			return err
		}
		if res.Returnval == nil || len(res.Returnval.Objects) == 0 {
			return soap.WrapVimFault(&types.ManagedObjectNotFound{Obj: r})
		}
		use(res.Returnval.Objects[0].PropSet)
		return nil
	})
}
