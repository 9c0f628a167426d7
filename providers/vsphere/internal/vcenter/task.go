// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// Task returns a task that the session follows: one that it has started or was asked about, until some minutes after it
// ended. False means that it is not, or no longer, followed: LookupTask asks vCenter.
func (s *Session) Task(taskRef string) (inventory.Task, bool) {
	return s.index.Task(inventory.ParseRef("Task", taskRef))
}

// LookupTask asks vCenter for a task, and follows it if it is under way. ErrNotFound means that vCenter has forgotten it.
func (s *Session) LookupTask(ctx context.Context, taskRef string) (inventory.Task, error) {
	return s.stream.LookupTask(ctx, inventory.ParseRef("Task", taskRef))
}
