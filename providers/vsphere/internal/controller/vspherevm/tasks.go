// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
)

// operation is what a task is to do.
type operation string

const (
	clone     operation = "clone"
	configure operation = "configure"
	powerOn   operation = "powerOn"
	powerOff  operation = "powerOff"
	destroy   operation = "destroy"
)

type started struct {
	by client.ObjectKey
	to operation
}

// tasks knows whose the tasks in flight are from the moment they are started. status.taskRef says the same and survives a
// restart, but the cache shows it later than vCenter may report a quick task done.
type tasks struct {
	mu     sync.Mutex
	flying map[string]started
}

func (t *tasks) add(task string, by client.ObjectKey, to operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying == nil {
		t.flying = map[string]started{}
	}
	t.flying[task] = started{by: by, to: to}
}

func (t *tasks) remove(task string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flying, task)
}

func (t *tasks) owner(task string) (client.ObjectKey, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.flying[task]
	return one.by, ok
}

// operation is "" for a task of before a restart.
func (t *tasks) operation(task string) operation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flying[task].to
}

// started records a task that is to be looked at again.
func (r *Reconciler) started(s *scope, task string, to operation) {
	s.vm.Status.TaskRef = task
	r.tasks.add(task, client.ObjectKeyFromObject(s.vm), to)
}

// settled forgets the task in flight.
func (r *Reconciler) settled(s *scope) {
	r.tasks.remove(s.vm.Status.TaskRef)
	s.vm.Status.TaskRef = ""
}

// unlessDone makes the reconcile run again at once when the task it has started is done already: the event may have come
// before anybody knew whom it concerns.
func (r *Reconciler) unlessDone(s *scope, after time.Duration) time.Duration {
	if s.session == nil || s.vm.Status.TaskRef == "" || s.finished.Ref == s.vm.Status.TaskRef {
		return after
	}
	task, ok := s.session.Task(s.vm.Status.TaskRef)
	if ok && task.Done() && !s.waitsForInventory {
		return time.Millisecond
	}
	return after
}
