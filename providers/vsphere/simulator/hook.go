// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/httpfront"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// installHooks inserts the server between vcsim's dispatcher and its objects.
func (s *Server) installHooks(o options) {
	s.inventory.Registry.Handler = s.handleCall
	if !o.stockCollector {
		content := s.admin.Client.ServiceContent
		s.inventory.Registry.Put(vcsim.NewCollector(content.PropertyCollector))
		s.inventory.Registry.Put(&vcsim.ViewManager{ViewManager: s.inventory.Registry.Get(*content.ViewManager).(*simulator.ViewManager)})
		s.history = vcsim.NewHistory(s.inventory)
		s.inventory.Registry.Put(s.history)
	}
	s.inventory.Registry.AddHandler(&observer{server: s})
}

// handleCall processes every SOAP call before the called object does.
func (s *Server) handleCall(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	r := &vcsim.Request{Method: method, Admin: vcsim.IsAdmin(ctx)}
	ctx.Context = vcsim.WithBackend(vcsim.WithRequest(ctx.Context, r), collectorBackend{server: s})
	if fault := s.sessions.Admit(ctx, method); fault != nil {
		return nil, fault
	}
	if ctx.Session == nil {
		return nil, nil
	}
	if fault := s.tasks.Refusal(r); fault != nil {
		return nil, fault
	}
	switch body := method.Body.(type) {
	case *types.WaitForUpdates, *types.WaitForUpdatesEx:
		s.endpoint.Waits.Bind(ctx, method.This)
	case *types.CreateCollectorForTasks:
		if s.history != nil {
			method.This = s.history.Self // vcsim dispatches by this reference, whatever is returned here
		}
	case *types.UnregisterVM:
		return nil, s.hosts.CheckUnregister(body.This)
	case *types.ShutdownGuest:
		return nil, s.guests.CheckTools(body.This)
	}
	var fault types.BaseMethodFault
	r.Work, fault = s.taskHooks.For(method)
	return nil, fault
}

// collectorBackend implements vcsim.CollectorBackend.
type collectorBackend struct{ server *Server }

func (b collectorBackend) Listen(ctx *simulator.Context, l simulator.RegisterObject) {
	b.server.sessions.Listen(ctx, l)
}

func (b collectorBackend) Silent() []string { return b.server.silent }

func (b collectorBackend) WaitContext(ctx *simulator.Context, collector types.ManagedObjectReference) context.Context {
	return b.server.endpoint.Waits.Context(httpfront.WaitKey{Session: ctx.Session.Key, Collector: collector.Value})
}

func (b collectorBackend) LockStructure() (unlock func()) { return b.server.tasks.LockStructure() }

func (b collectorBackend) Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	return b.server.permissions.Visible(refs)
}

// observer receives all created, changed and removed objects.
type observer struct {
	server *Server
}

func (*observer) Reference() types.ManagedObjectReference {
	return types.ManagedObjectReference{Type: "Simulator", Value: "observer"}
}

// PutObject is called before other clients can observe that a task runs, or that a VM exists.
func (o *observer) PutObject(_ *simulator.Context, obj mo.Reference) {
	switch obj := obj.(type) {
	case *simulator.Task:
		o.server.tasks.Adopt(obj)
	case *simulator.VirtualMachine:
		o.server.tasks.LockNewVM(obj)
		vcsim.OwnDevices(obj)
	}
}

// UpdateObject is called while obj is locked by the caller that changes it.
func (o *observer) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	switch obj := obj.(type) {
	case *mo.Task:
		o.server.admin.ObserveTask(obj)
	case *mo.VirtualMachine:
		for _, change := range changes {
			if change.Name == "runtime.powerState" {
				o.server.powerChanged(obj)
			}
		}
	}
}

// RemoveObject removes the state kept for a VM.
func (o *observer) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	if ref.Type == "VirtualMachine" {
		o.server.forgetVM(ref)
	}
}
