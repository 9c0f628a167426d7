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
	// Operator is true for the server's own calls.
	Operator bool
	// Work is the work of its task in addition to vcsim's.
	Work TaskWork
	// claimed is set by the first task; tasks started by that task are part of it.
	claimed atomic.Bool

	mu    sync.Mutex
	parts []*simulator.Task
}

// TaskWork is the work that vCenter does around a task and vcsim does not. All fields are optional.
type TaskWork struct {
	// Fault is the fault with which the task must fail.
	Fault types.BaseMethodFault
	// Ahead may reject the task while nothing is locked.
	Ahead func() types.BaseMethodFault
	// Before runs before the task, whose object is locked.
	Before func(ctx *simulator.Context) types.BaseMethodFault
	// Instead returns a replacement for vcsim's task body, or nil.
	Instead func(ctx *simulator.Context) TaskBody
	// After runs after a successful task, whose object is still locked.
	After func(ctx *simulator.Context, result types.AnyType) types.BaseMethodFault
}

// TaskBody is the function that a task executes.
type TaskBody = func(*simulator.Task) (types.AnyType, types.BaseMethodFault)

// WithRequest adds a request to the context of its call.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// part records a task that the request's task has started.
func (r *Request) part(task *simulator.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts = append(r.parts, task)
}

// wait waits for all parts to end. vcsim deletes a VM's files in a background task, which reads what the next deletion writes.
func (r *Request) wait() {
	r.mu.Lock()
	parts := r.parts
	r.parts = nil
	r.mu.Unlock()
	for _, part := range parts {
		part.Wait()
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
