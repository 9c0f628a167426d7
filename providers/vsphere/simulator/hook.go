// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"context"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/front"
	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vcsim"
)

// hook inserts the server between vcsim's dispatcher and its objects.
func (s *Server) hook(o options) {
	s.inventory.Registry.Handler = s.before
	if !o.stockCollector {
		content := s.operator.Client.ServiceContent
		s.inventory.Registry.Put(vcsim.NewCollector(content.PropertyCollector))
		s.inventory.Registry.Put(&vcsim.ViewManager{ViewManager: s.inventory.Registry.Get(*content.ViewManager).(*simulator.ViewManager)})
		s.history = vcsim.NewHistory(s.inventory)
		s.inventory.Registry.Put(s.history)
	}
	s.inventory.Registry.AddHandler(&observer{server: s})
}

// before processes every SOAP call before the called object does.
func (s *Server) before(ctx *simulator.Context, method *simulator.Method) (mo.Reference, types.BaseMethodFault) {
	r := &vcsim.Request{Method: method, Operator: vcsim.IsOperator(ctx)}
	ctx.Context = vcsim.WithWorld(vcsim.WithRequest(ctx.Context, r), world{server: s})
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
		return nil, s.hosts.Removable(body.This)
	case *types.ShutdownGuest:
		return nil, s.guests.Reachable(body.This)
	}
	var fault types.BaseMethodFault
	r.Work, fault = s.effects.Of(method)
	return nil, fault
}

// world implements vcsim.CollectorWorld.
type world struct{ server *Server }

func (w world) Listen(ctx *simulator.Context, l simulator.RegisterObject) {
	w.server.sessions.Listen(ctx, l)
}

func (w world) Silent() []string { return w.server.silent }

func (w world) Bound(ctx *simulator.Context, collector types.ManagedObjectReference) context.Context {
	return w.server.endpoint.Waits.Context(front.WaitKey{Session: ctx.Session.Key, Collector: collector.Value})
}

func (w world) Still() (leave func()) { return w.server.tasks.Own() }

func (w world) Visible(refs []types.ManagedObjectReference) []types.ManagedObjectReference {
	return w.server.visibility.Visible(refs)
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
		o.server.tasks.Keep(obj)
		vcsim.OwnDevices(obj)
	}
}

// UpdateObject is called while obj is locked by the caller that changes it.
func (o *observer) UpdateObject(_ *simulator.Context, obj mo.Reference, changes []types.PropertyChange) {
	switch obj := obj.(type) {
	case *mo.Task:
		o.server.operator.Note(obj)
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
