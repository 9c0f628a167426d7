// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/types"
)

// AllTasks matches the methods of all tasks.
const AllTasks = "*"

// taskFaults holds the faults to inject into tasks.
type taskFaults struct {
	mu       sync.Mutex
	held     map[string]chan struct{} // closed when released
	delays   map[string]time.Duration
	failures map[string]*taskFailure
	closed   chan struct{}
}

type taskFailure struct {
	left  int // below zero means all
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

// Close fails all held tasks.
func (g *taskFaults) Close() { close(g.closed) }

// Hold keeps tasks of the method running without effect, until Release.
func (g *taskFaults) Hold(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.held[method] == nil {
		g.held[method] = make(chan struct{})
	}
}

// Release releases the held tasks of the method and stops holding new ones.
func (g *taskFaults) Release(method string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if ch := g.held[method]; ch != nil {
		close(ch)
		delete(g.held, method)
	}
}

// Delay delays tasks of the method.
func (g *taskFaults) Delay(method string, d time.Duration) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.delays[method] = d
}

// Fail makes the next n tasks of the method fail; n below zero means all.
func (g *taskFaults) Fail(method string, n int, fault types.BaseMethodFault) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.failures[method] = &taskFailure{left: n, fault: fault}
}

// apply waits until the task may run, and returns the fault to inject.
func (g *taskFaults) apply(r *Request) types.BaseMethodFault {
	if r.Admin {
		return nil
	}
	for _, method := range []string{r.Method.Name, AllTasks} {
		if fault := g.applyFor(method); fault != nil {
			return fault
		}
	}
	return nil
}

func (g *taskFaults) applyFor(method string) types.BaseMethodFault {
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

// refusedCall is the prefix of calls, as opposed to tasks, in failures.
const refusedCall = "call of "

// Refusal returns the fault with which the call is rejected, or nil.
func (g *taskFaults) Refusal(r *Request) types.BaseMethodFault {
	if r.Admin {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.takeFailure(refusedCall + r.Method.Name)
}

// Refuse makes the next n calls of the method fail before a task is created; n below zero means all.
func (g *taskFaults) Refuse(method string, n int, fault types.BaseMethodFault) {
	g.Fail(refusedCall+method, n, fault)
}
