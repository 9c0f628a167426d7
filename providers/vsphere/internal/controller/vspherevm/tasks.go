// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// operation is what a task is to do.
type operation string

const (
	clone     operation = "clone"
	configure operation = "configure"
	powerOn   operation = "powerOn"
	powerOff  operation = "powerOff"
	destroy   operation = "destroy"

	// These start no task of the virtual machine's own.
	join operation = "join"
	tag  operation = "tag"
)

type started struct {
	by client.ObjectKey
	to operation
}

// taskKey names a task. Every vCenter counts its tasks from one, so a task's own name is not enough.
type taskKey struct{ server, task string }

// tasks knows whose the tasks in flight are from the moment they are started. status.taskRef says the same and survives a
// restart, but the cache shows it later than vCenter may report a quick task done.
type tasks struct {
	mu     sync.Mutex
	flying map[taskKey]started
}

func (t *tasks) add(key taskKey, by client.ObjectKey, to operation) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying == nil {
		t.flying = map[taskKey]started{}
	}
	t.flying[key] = started{by: by, to: to}
}

func (t *tasks) remove(key taskKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flying, key)
}

func (t *tasks) owner(key taskKey) (client.ObjectKey, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	one, ok := t.flying[key]
	return one.by, ok
}

// operation is "" for a task of before a restart.
func (t *tasks) operation(key taskKey) operation {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.flying[key].to
}

// inFlight names the task that the object records.
func inFlight(vm *infrav1.VSphereVM) taskKey {
	return taskKey{server: vm.Spec.Server, task: vm.Status.TaskRef}
}

// started records a task that is to be looked at again.
func (r *Reconciler) started(s *scope, task string, to operation) {
	s.vm.Status.TaskRef = task
	r.tasks.add(inFlight(s.vm), client.ObjectKeyFromObject(s.vm), to)
}

// settled forgets the task in flight.
func (r *Reconciler) settled(s *scope) {
	r.tasks.remove(inFlight(s.vm))
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
