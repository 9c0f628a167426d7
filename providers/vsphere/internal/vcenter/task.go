// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Task returns a task that the session follows: one that it started or looked up, until some minutes after it ended. It returns
// false if the task is not followed; LookupTask then reads it from vCenter.
func (s *Session) Task(taskRef string) (inventory.Task, bool) {
	return s.index.Task(inventory.ParseRef("Task", taskRef))
}

// LookupTask reads a task from vCenter, and follows it if it is running. ErrNotFound means that vCenter does not have the task
// any more.
func (s *Session) LookupTask(ctx context.Context, taskRef string) (inventory.Task, error) {
	return s.stream.LookupTask(ctx, inventory.ParseRef("Task", taskRef))
}
