// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"

	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Start runs a call that starts a task, follows the task, and returns its reference without waiting for it.
func (s *Stream) Start(ctx context.Context, doing string, f func(context.Context, soap.RoundTripper) (inventory.Ref, error)) (string, error) {
	var task inventory.Ref
	err := s.api.Call(ctx, doing, func(ctx context.Context, rt soap.RoundTripper) error {
		var err error
		task, err = f(ctx, rt)
		return err
	})
	if err == nil {
		s.FollowTask(task, inventory.Task{Ref: task.Value, State: inventory.TaskQueued})
	}
	return task.Value, err
}

// Run starts a task for several callers and waits for it. It must not be used for a single caller.
func (s *Stream) Run(ctx context.Context, doing string, f func(context.Context, soap.RoundTripper) (inventory.Ref, error)) error {
	started, err := s.Start(ctx, doing, f)
	if err != nil {
		return err
	}
	r := inventory.ParseRef("Task", started)
	task, err := s.index.AwaitTask(ctx, r)
	if err == nil && !task.Done() {
		task, err = s.LookupTask(ctx, r)
	}
	if err != nil {
		return err
	}
	return task.Err
}

// LookupTask reads a task from vCenter, and follows it if it is running. ErrNotFound means that vCenter does not have the task
// any more.
func (s *Stream) LookupTask(ctx context.Context, r inventory.Ref) (inventory.Task, error) {
	var task inventory.Task
	err := s.api.Retrieve(ctx, "reading task "+r.Value, r, inventory.TaskProperties(), func(properties []types.DynamicProperty) {
		task.Ref = r.Value
		for _, p := range properties {
			task.Set(p.Name, p.Val)
		}
	})
	if err == nil && !task.Done() {
		s.FollowTask(r, task)
	}
	return task, err
}
