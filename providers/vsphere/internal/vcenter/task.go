// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
)

// Task returns a task that the session follows: one that it has started or was asked about, until some minutes after it
// ended. False means that it is not, or no longer, followed: LookupTask asks vCenter.
func (s *Session) Task(taskRef string) (inventory.Task, bool) {
	return s.index.Task(inventory.ParseRef("Task", taskRef))
}

// LookupTask asks vCenter for a task, and follows it if it is under way. ErrNotFound means that vCenter has forgotten it.
func (s *Session) LookupTask(ctx context.Context, taskRef string) (inventory.Task, error) {
	r := inventory.ParseRef("Task", taskRef)
	var task inventory.Task
	err := s.api.Retrieve(ctx, "reading task "+r.Value, r, inventory.TaskProperties(), func(properties []types.DynamicProperty) {
		task.Ref = r.Value
		for _, p := range properties {
			task.Set(p.Name, p.Val)
		}
	})
	if err == nil && !task.Done() {
		s.followTask(r, task)
	}
	return task, err
}

// await waits for a task that the session has started for several callers, never for one on a caller's behalf.
func (s *Session) await(ctx context.Context, taskRef string) (inventory.Task, error) {
	task, err := s.index.AwaitTask(ctx, inventory.ParseRef("Task", taskRef))
	if err == nil && !task.Done() {
		return s.LookupTask(ctx, taskRef)
	}
	return task, err
}

// taskEvent names the virtual machine that a task was about, so that its owner is woken even if it did not have the
// time to note the task.
func (s *Session) taskEvent(task inventory.Task) Event {
	e := Event{Kind: TaskDone, Task: task.Ref}
	if vm, ok := s.index.About(task); ok {
		e.VM, e.InstanceUUID, e.BiosUUID, e.Name = vm.Ref, vm.InstanceUUID, vm.BiosUUID, vm.Name
	}
	return e
}

// cloneSettles is what the stream may take to show the whole of a new virtual machine.
const cloneSettles = time.Second

// completeClone has a new virtual machine read that the stream has shown half finished and does not complete: one call for
// all of a short time.
func (s *Session) completeClone(task inventory.Task) {
	made := task.ResultRef
	if task.State != inventory.TaskSuccess || made.Type != "VirtualMachine" {
		return
	}
	if known, complete := s.index.Completeness(made); known && complete || !s.index.AddIncomplete(made) {
		return
	}
	s.background(func(ctx context.Context) {
		pause(ctx, cloneSettles)
		for range 3 {
			if unseen := s.index.TakeIncomplete(); len(unseen) == 0 || ctx.Err() != nil {
				return
			} else if err := s.refreshAll(ctx, unseen); err != nil {
				s.opts.Log.Debug("reading new virtual machines", "server", s.server, "error", err)
			}
			pause(ctx, cloneSettles)
		}
	})
}

// refresh reads an object into the index ahead of the stream, unless the stream was faster.
func (s *Session) refresh(ctx context.Context, r inventory.Ref, properties []string) error {
	revision := s.index.Revision(r)
	update := types.ObjectUpdate{Kind: types.ObjectUpdateKindModify, Obj: r}
	err := s.api.Retrieve(ctx, "reading "+r.String(), r, properties, func(values []types.DynamicProperty) {
		update.ChangeSet = assigned(values)
	})
	if err == nil {
		s.report(s.index.ApplyAt(revision, update))
	}
	return err
}

// refreshAll is refresh for whole virtual machines.
func (s *Session) refreshAll(ctx context.Context, vms []inventory.Ref) error {
	revisions := map[inventory.Ref]int{}
	for _, r := range vms {
		revisions[r] = s.index.Revision(r)
	}
	read, err := s.api.RetrieveAll(ctx, "reading new virtual machines", vms, inventory.VMProperties())
	for r, properties := range read {
		s.report(s.index.ApplyAt(revisions[r], entering(r, properties)))
	}
	return err
}

// entering is the update that shows all of an object.
func entering(r inventory.Ref, properties []types.DynamicProperty) types.ObjectUpdate {
	return types.ObjectUpdate{Kind: types.ObjectUpdateKindEnter, Obj: r, ChangeSet: assigned(properties)}
}

func assigned(properties []types.DynamicProperty) []types.PropertyChange {
	var set []types.PropertyChange
	for _, p := range properties {
		set = append(set, types.PropertyChange{Name: p.Name, Op: types.PropertyChangeOpAssign, Val: p.Val})
	}
	return set
}
