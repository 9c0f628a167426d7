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

// Request is a SOAP call under way. It travels in the vcsim context, which the
// method hands to the task that it starts.
type Request struct {
	Method *simulator.Method
	// Operator says that the call is the server's own.
	Operator bool
	// Work is what its task does beyond vcsim.
	Work TaskWork
	// claimed is set by the first task; what that task starts itself is part of it.
	claimed atomic.Bool

	mu    sync.Mutex
	parts []*simulator.Task
}

// TaskWork is what vCenter does around a task, and vcsim does not. None of it is needed.
type TaskWork struct {
	// Fault is why the task has to fail.
	Fault types.BaseMethodFault
	// Ahead may refuse the task while nothing is locked.
	Ahead func() types.BaseMethodFault
	// Before comes ahead of the task, whose object is locked.
	Before func(ctx *simulator.Context) types.BaseMethodFault
	// Instead returns what is done in place of what vcsim does, or nil.
	Instead func(ctx *simulator.Context) TaskBody
	// After comes after a task that succeeded, whose object is still locked.
	After func(ctx *simulator.Context, result types.AnyType) types.BaseMethodFault
}

// TaskBody is what a task does.
type TaskBody = func(*simulator.Task) (types.AnyType, types.BaseMethodFault)

// WithRequest puts a request into the context of its call.
func WithRequest(ctx context.Context, r *Request) context.Context {
	return context.WithValue(ctx, requestKey{}, r)
}

// part notes a task that the request's task has started.
func (r *Request) part(task *simulator.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts = append(r.parts, task)
}

// wait returns when all parts have ended. vcsim leaves the removal of a VM's files to itself, which reads what the next
// removal writes.
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

// requestOf returns nil for contexts that did not come through the hook.
func requestOf(ctx *simulator.Context) *Request {
	if ctx == nil || ctx.Context == nil {
		return nil
	}
	r, _ := ctx.Value(requestKey{}).(*Request)
	return r
}
