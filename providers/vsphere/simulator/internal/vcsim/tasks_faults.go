// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// AllTasks stands for the method of every task.
const AllTasks = "*"

// taskFaults is what stands between a task and its effect.
type taskFaults struct {
	mu       sync.Mutex
	held     map[string]chan struct{} // closed when released
	delays   map[string]time.Duration
	failures map[string]*taskFailure
	closed   chan struct{}
}

type taskFailure struct {
	left  int // below zero: no end
	fault types.BaseMethodFault
}

func newTaskFaults() *taskFaults {
	return &taskFaults{
		held:     map[string]chan struct{}{},
		delays:   map[string]time.Duration{},
		failures: map[string]*taskFailure{},
		closed:   make(chan struct{}),
	}
}

// Close fails the tasks that are held.
func (g *taskFaults) Close() { close(g.closed) }

// Hold keeps tasks of the method running, without effect, until Release.
func (g *taskFaults) Hold(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[method] == nil {
		g.held[method] = make(chan struct{})
	}
}

// Release lets go the tasks of the method that are held and those to come.
func (g *taskFaults) Release(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ch := g.held[method]; ch != nil {
		close(ch)
		delete(g.held, method)
	}
}

// Delay makes tasks of the method take so long.
func (g *taskFaults) Delay(method string, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delays[method] = d
}

// Fail makes the next n tasks of the method end in a fault; n below zero means all.
func (g *taskFaults) Fail(method string, n int, fault types.BaseMethodFault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures[method] = &taskFailure{left: n, fault: fault}
}

// pass returns when the task may go on, with the fault that it has to end in.
func (g *taskFaults) pass(r *Request) types.BaseMethodFault {
	if r.Operator {
		return nil
	}
	for _, method := range []string{r.Method.Name, AllTasks} {
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
			return SystemFault("the simulator is closing")
		}
	}
	if d > 0 {
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-g.closed:
			return SystemFault("the simulator is closing")
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

// refusedCall tells the calls among the failures from the tasks.
const refusedCall = "call of "

// Refusal returns the fault that the call is to be refused with.
func (g *taskFaults) Refusal(r *Request) types.BaseMethodFault {
	if r.Operator {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.takeFailure(refusedCall + r.Method.Name)
}

// Refuse makes the next n calls of the method end in a fault before any task; n below zero means all.
func (g *taskFaults) Refuse(method string, n int, fault types.BaseMethodFault) {
	g.Fail(refusedCall+method, n, fault)
}
