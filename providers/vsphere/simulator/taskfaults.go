// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/simulator/internal/vimfault"
)

// AllTasks stands for the method of every task.
const AllTasks = "*"

// HoldTasks keeps tasks of the method (such as "CloneVM_Task") running, without
// effect, until ReleaseTasks. Tasks that run already are not concerned, nor are
// those that the Server starts itself.
func (s *Server) HoldTasks(method string) { s.tasks.hold(method) }

// ReleaseTasks lets go the tasks of the method that are held and those to come.
func (s *Server) ReleaseTasks(method string) { s.tasks.release(method) }

// DelayTasks makes tasks of the method take so long; zero ends it.
func (s *Server) DelayTasks(method string, d time.Duration) { s.tasks.delay(method, d) }

// FailTasks makes the next n tasks of the method end in an error with the message;
// n below zero means all until n is set to zero.
func (s *Server) FailTasks(method string, n int, msg string) {
	s.FailTasksWith(method, n, vimfault.System(msg))
}

// FailTasksWith is FailTasks with a fault of the caller's choice.
func (s *Server) FailTasksWith(method string, n int, fault types.BaseMethodFault) {
	s.tasks.fail(method, n, fault)
}

// RefuseCalls makes vCenter answer the next n calls of the method with a fault,
// before any task; n below zero means all until n is set to zero.
func (s *Server) RefuseCalls(method string, n int, fault types.BaseMethodFault) {
	s.tasks.fail(refusedCall+method, n, fault)
}

// refusedCall tells the calls among the failures from the tasks.
const refusedCall = "call of "

// refusal returns the fault that the call is to be refused with.
func (g *taskFaults) refusal(r *request) types.BaseMethodFault {
	if r.operator {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.takeFailure(refusedCall + r.method.Name)
}

// ForgetTasks makes vCenter forget the tasks that have ended, as it does after some
// time: they leave the list of recent tasks, and asking for one answers
// ManagedObjectNotFound.
func (s *Server) ForgetTasks() {
	ctx := s.call()
	var kept []types.ManagedObjectReference
	for _, obj := range s.registry.AllReference("Task") {
		task, over := obj.(*simulator.Task), false
		ctx.WithLock(task, func() { over = finished(task.Info) })
		if over {
			s.registry.Remove(ctx, task.Self)
		} else {
			kept = append(kept, task.Self)
		}
	}
	manager, ok := get[*simulator.TaskManager](s, s.admin.client.ServiceContent.TaskManager)
	if !ok {
		return
	}
	ctx.WithLock(manager, func() {
		recent := slices.DeleteFunc(slices.Clone(manager.RecentTask), func(ref types.ManagedObjectReference) bool {
			return !slices.Contains(kept, ref)
		})
		ctx.Update(manager, []types.PropertyChange{{Name: "recentTask", Val: recent}})
	})
}

// taskFaults is what stands between a task and its effect.
type taskFaults struct {
	mu       sync.Mutex
	held     map[string]chan struct{} // closed when released
	delays   map[string]time.Duration
	failures map[string]*failure
	closed   chan struct{}
}

type failure struct {
	left  int // below zero: no end
	fault types.BaseMethodFault
}

func newTaskFaults() *taskFaults {
	return &taskFaults{
		held:     map[string]chan struct{}{},
		delays:   map[string]time.Duration{},
		failures: map[string]*failure{},
		closed:   make(chan struct{}),
	}
}

// close fails the tasks that are held.
func (g *taskFaults) close() { close(g.closed) }

func (g *taskFaults) hold(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[method] == nil {
		g.held[method] = make(chan struct{})
	}
}

func (g *taskFaults) release(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ch := g.held[method]; ch != nil {
		close(ch)
		delete(g.held, method)
	}
}

func (g *taskFaults) delay(method string, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delays[method] = d
}

func (g *taskFaults) fail(method string, n int, fault types.BaseMethodFault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures[method] = &failure{left: n, fault: fault}
}

// pass returns when the task may go on, with the fault that it has to end in.
func (g *taskFaults) pass(r *request) types.BaseMethodFault {
	if r.operator {
		return nil
	}
	for _, method := range []string{r.method.Name, AllTasks} {
		if fault := g.passOne(method); fault != nil {
			return fault
		}
	}
	return nil
}

func (g *taskFaults) passOne(method string) types.BaseMethodFault {
	g.mu.Lock()
	held, d, fault := g.held[method], g.delays[method], g.takeFailure(method)
	g.mu.Unlock()
	if held != nil {
		select {
		case <-held:
		case <-g.closed:
			return vimfault.System("the simulator is closing")
		}
	}
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-g.closed:
			return vimfault.System("the simulator is closing")
		}
	}
	return fault
}

func (g *taskFaults) takeFailure(method string) types.BaseMethodFault {
	f := g.failures[method]
	if f == nil || f.left == 0 {
		return nil
	}
	if f.left > 0 {
		f.left--
	}
	return f.fault
}
