// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// Request is a pending SOAP call. It is stored in the vcsim context, which the method passes to the task that it starts.
type Request struct {
	Method *simulator.Method
	// Admin is true for the server's own calls.
	Admin bool
	// Work is the work of its task in addition to vcsim's.
	Work TaskWork
	// claimed is set by the first task; tasks started by that task are its subtasks.
	claimed atomic.Bool

	mu       sync.Mutex
	subtasks []*simulator.Task
}

// TaskWork is the work that vCenter does around a task and vcsim does not. All fields are optional.
type TaskWork struct {
	// Fault is the fault with which the task must fail.
	Fault types.BaseMethodFault
	// Precheck may reject the task while nothing is locked.
	Precheck func() types.BaseMethodFault
	// Before runs before the task, whose object is locked.
	Before func(ctx *simulator.Context) types.BaseMethodFault
	// Replace returns a replacement for vcsim's task body, or nil.
	Replace func(ctx *simulator.Context) TaskBody
	// After runs after a successful task, whose object is still locked.
	After func(ctx *simulator.Context, result types.AnyType) types.BaseMethodFault
}

// TaskBody is the function that a task executes.
type TaskBody = func(*simulator.Task) (types.AnyType, types.BaseMethodFault)

// WithRequest adds a request to the context of its call.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// addSubtask records a task that the request's task has started.
func (r *Request) addSubtask(task *simulator.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.subtasks = append(r.subtasks, task)
}

// waitForSubtasks waits for all subtasks to end. vcsim deletes a VM's files in a background task, which reads what the next deletion
// writes.
func (r *Request) waitForSubtasks() {
	r.mu.Lock()
	subtasks := r.subtasks
	r.subtasks = nil
	r.mu.Unlock()
	for _, subtask := range subtasks {
		subtask.Wait()
	}
}

type requestKey struct{}

// requestOf returns nil for contexts that did not pass the hook.
func requestOf(ctx *simulator.Context) *Request {
	if ctx == nil || ctx.Context == nil {
		return nil
	}
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}
