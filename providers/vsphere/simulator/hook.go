// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/front"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/propertycollector"
)

// request is a SOAP call under way. It travels in the vcsim context, which the
// method hands to the task that it starts.
type request struct {
	server *Server
	method *simulator.Method
	// operator says that the call is the server's own.
	operator bool
	// fault is why the task of the call has to fail.
	fault types.BaseMethodFault
	// disks are the sizes in KiB that a clone asks for, by device key.
	disks map[int32]int64
	// kept is what a clone asks for of its storage.
	kept keptAs
	// claimed is set by the first task; what that task starts itself is part of it.
	claimed atomic.Bool

	mu    sync.Mutex
	parts []*simulator.Task
}

// part notes a task that the request's task has started.
func (r *request) part(task *simulator.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts = append(r.parts, task)
}

// wait returns when all parts have ended. vcsim leaves the removal of a VM's files to itself, which reads what the next
// removal writes.
func (r *request) wait() {
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
func requestOf(ctx *simulator.Context) *request {
	if ctx == nil || ctx.Context == nil {
		return nil
	}
	r, _ := ctx.Value(requestKey{}).(*request)
	return r
}

// hook puts the server between vcsim's dispatcher and its objects.
func (s *Server) hook(o options) {
	s.registry.Handler = s.before
	if !o.stockCollector {
		s.registry.Put(propertycollector.New(s.admin.client.ServiceContent.PropertyCollector))
		s.history = newTaskHistory(s)
		s.registry.Put(s.history)
	}
	s.registry.AddHandler(&observer{server: s})
}

// before sees every SOAP call ahead of the object that is called.
func (s *Server) before(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	r := &request{server: s, method: method, operator: isOperator(ctx)}
	ctx.Context = propertycollector.In(context.WithValue(ctx.Context, requestKey{}, r), world{server: s})
	if fault := s.sessions.admit(ctx, method); fault != nil {
		return nil, fault
	}
	if ctx.Session == nil {
		return nil, nil
	}
	if fault := s.tasks.refusal(r); fault != nil {
		return nil, fault
	}
	switch body := method.Body.(type) {
	case *types.WaitForUpdates, *types.WaitForUpdatesEx:
		s.endpoint.Waits.Bind(ctx, method.This)
	case *types.CreateCollectorForTasks:
		if s.history != nil {
			method.This = s.history.Self // vcsim goes by the reference that is called, whatever is returned here
		}
	case *types.CloneVM_Task:
		return nil, s.prepareClone(r, body)
	case *types.CreateVM_Task:
		return nil, s.prepareCreate(r, body)
	case *types.UnregisterVM:
		return nil, s.removable(body.This)
	case *types.ShutdownGuest:
		return nil, s.guestReachable(body.This)
	}
	return nil, nil
}

// world is the server as its property collectors need it.
type world struct{ server *Server }

func (w world) Listen(ctx *simulator.Context, l simulator.RegisterObject) {
	w.server.sessions.listen(ctx, l)
}

func (w world) Silent() []string { return w.server.silent }

func (w world) Bound(ctx *simulator.Context, collector types.ManagedObjectReference) context.Context {
	return w.server.endpoint.Waits.Context(front.WaitKey{Session: ctx.Session.Key, Collector: collector.Value})
}

func (w world) Still() (leave func()) { return w.server.structure.own() }

func (w world) Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	return w.server.newVMs.visible(refs)
}

// isOperator tells calls from inside the process, whose session has no user.
func isOperator(ctx *simulator.Context) bool {
	return ctx.Session != nil && ctx.Session.UserName == ""
}

// observer is told of everything that is put, changed and removed.
type observer struct {
	server *Server
}

func (*observer) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Simulator", Value: "observer"}
}

// PutObject runs before anybody else can see a task run, or a VM at all.
func (o *observer) PutObject(_ *simulator.Context, obj mo.Reference) {
	switch obj := obj.(type) {
	case *simulator.Task:
		o.server.adopt(obj)
	case *simulator.VirtualMachine:
		o.server.structure.hold(obj)
		ownDevices(obj)
	}
}

// UpdateObject runs while obj is locked by the one who changes it.
func (o *observer) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	switch obj := obj.(type) {
	case *mo.Task:
		o.server.admin.results.update(obj)
	case *mo.VirtualMachine:
		for _, change := range changes {
			if change.Name == "runtime.powerState" {
				o.server.powerChanged(obj)
			}
		}
	}
}

// RemoveObject forgets what is kept about a VM.
func (o *observer) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "VirtualMachine" {
		o.server.forgetVM(ref)
	}
}
