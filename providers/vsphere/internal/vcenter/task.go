// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
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
}

// Done says whether the task has ended.
func (t Task) Done() bool { return t.State == TaskSuccess || t.State == TaskError }

// Task returns a task from the stream, which follows tasks until some minutes after they ended, those included that
// were started before this session. False means that it is not, or no longer, followed: LookupTask asks vCenter.
func (s *Session) Task(taskRef string) (Task, bool) {
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	task, ok := s.index.tasks[parseRef("Task", taskRef)]
	return task, ok
}

// Cloning reports whether a task is under way on the template, which may be a clone that nobody has a record of. A
// template that cannot be found has none.
func (s *Session) Cloning(datacenter, template string) bool {
	vm, err := s.Template(datacenter, template)
	if err != nil {
		return false
	}
	s.index.mu.RLock()
	defer s.index.mu.RUnlock()
	for _, task := range s.index.tasks {
		if task.Entity == vm.Ref && !task.Done() {
			return true
		}
	}
	return false
}

// LookupTask asks vCenter for a task. ErrNotFound means that vCenter has forgotten it.
func (s *Session) LookupTask(ctx context.Context, taskRef string) (Task, error) {
	r := parseRef("Task", taskRef)
	var task Task
	err := s.retrieve(ctx, "reading task "+r.Value, r, taskProperties(), func(properties []types.DynamicProperty) {
		task.Ref = r.Value
		for _, p := range properties {
			task.set(p.Name, p.Val)
		}
	})
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
	before, known := ix.tasks[update.Obj]
	if gone {
		delete(ix.tasks, update.Obj)
		if known && !before.Done() {
			ix.finish(update.Obj, before, c) // whoever waits for it must ask vCenter
		}
		return
	}
	task := before
	task.Ref = update.Obj.Value
	for _, change := range update.ChangeSet {
		task.set(change.Name, change.Val)
	}
	if task.State == TaskError && task.Err == nil {
		task.Err = fmt.Errorf("%w: vCenter gives no reason", ErrTaskFailed)
	}
	ix.tasks[update.Obj] = task
	if task.Done() && !before.Done() {
		ix.finish(update.Obj, task, c)
	}
}

func (ix *index) finish(r ref, task Task, c *changes) {
	c.tasks = append(c.tasks, task)
	delete(ix.expected, r)
	if waiter, ok := ix.waiting[r]; ok {
		waiter <- task
		delete(ix.waiting, r)
	}
}

// lookAgain is how long await relies on the stream before it asks.
const lookAgain = 10 * time.Second

// maxLookAgain is the longest pause between two looks at a task.
const maxLookAgain = 5 * time.Minute

// await waits for a task that the session has started for several callers, never for one on a caller's behalf.
func (s *Session) await(ctx context.Context, taskRef string) (Task, error) {
	for {
		task, err := s.awaitStream(ctx, parseRef("Task", taskRef))
		if err == nil && !task.Done() {
			task, err = s.LookupTask(ctx, taskRef)
		}
		if err != nil || task.Done() {
			return task, err
		}
	}
}

func (s *Session) awaitStream(ctx context.Context, r ref) (Task, error) {
	done := make(chan Task, 1)
	s.index.mu.Lock()
	task := s.index.tasks[r]
	s.index.waiting[r] = done
	s.index.mu.Unlock()
	defer func() {
		s.index.mu.Lock()
		delete(s.index.waiting, r)
		s.index.mu.Unlock()
	}()
	if task.Done() {
		return task, nil
	}
	timer := time.NewTimer(lookAgain)
	defer timer.Stop()
	select {
	case task = <-done:
		return task, nil
	case <-timer.C:
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
		e.InstanceUUID, e.BiosUUID, e.Name = m.instanceUUID, m.biosUUID, m.name
	}
	return e
}

// watch asks for a task that the stream has not shown done after a while, at growing intervals: vCenter's list of recent
// tasks is short, and in a storm of them one may come and go unseen, or its last change be missed.
func (s *Session) watch(taskRef string, after time.Duration) {
	r := parseRef("Task", taskRef)
	if !s.index.expect(r) {
		return
	}
	s.background(func(ctx context.Context) {
		for ; ; after = min(2*after, maxLookAgain) {
			pause(ctx, after)
			if ctx.Err() != nil || !s.index.expects(r) {
				return
			}
			task, err := s.LookupTask(ctx, taskRef)
			if err != nil && !errors.Is(err, ErrNotFound) {
				s.opts.Log.Warn("looking after a task", "server", s.server, "task", taskRef, "error", err)
				continue
			}
			if err == nil && !task.Done() {
				continue
			}
			s.index.put(r, task)
			task.Ref = taskRef
			s.emit(s.taskEvent(task))
			return
		}
	})
}

// expect notes that a task's end is to come, unless the stream has shown it.
func (ix *index) expect(r ref) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if task := ix.tasks[r]; task.Done() {
		return false
	}
	ix.expected[r] = struct{}{}
	return true
}

func (ix *index) expects(r ref) bool {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	_, ok := ix.expected[r]
	return ok
}

// put records the end of a task that was asked for instead of followed; one that the stream does not show would stay.
func (ix *index) put(r ref, task Task) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	delete(ix.expected, r)
	if _, followed := ix.tasks[r]; followed && task.Done() {
		ix.tasks[r] = task
	}
}

// cloneSettles is what the stream may take to show the whole of a new virtual machine.
const cloneSettles = time.Second

// completeClone reads a new virtual machine that the stream has shown half finished and does not complete.
func (s *Session) completeClone(task Task) {
	made := task.result
	if task.State != TaskSuccess || made.Type != "VirtualMachine" {
		return
	}
	if known, complete := s.index.completeness(made); known && complete {
		return
	}
	s.background(func(ctx context.Context) {
		pause(ctx, cloneSettles)
		for range 3 {
			if known, complete := s.index.completeness(made); !known || complete || ctx.Err() != nil {
				return
			}
			if err := s.refresh(ctx, made, vmProperties()); err != nil {
				s.opts.Log.Debug("reading a new virtual machine", "server", s.server, "vm", made.Value, "error", err)
			}
		}
	})
}

// completeness says whether a new virtual machine is there, and whether it has all that it must have.
func (ix *index) completeness(r ref) (known, complete bool) {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	m, known := ix.vms[r]
	return known, known && m.host != (ref{}) && m.instanceUUID != "" && (m.template || m.pool != (ref{}))
}

// refresh reads an object into the index ahead of the stream, unless the stream was faster.
func (s *Session) refresh(ctx context.Context, r ref, properties []string) error {
	revision := s.index.revision(r)
	update := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: r}
	err := s.retrieve(ctx, "reading "+r.String(), r, properties, func(values []types.DynamicProperty) {
		for _, v := range values {
			update.ChangeSet = append(update.ChangeSet, types.PropertyChange{Name: v.Name, Op: types.PropertyChangeOpAssign, Val: v.Val})
		}
	})
	if err == nil {
		s.report(s.index.applyAt(revision, update))
	}
	return err
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
