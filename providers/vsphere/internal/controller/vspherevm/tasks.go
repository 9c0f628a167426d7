// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"sync"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// operation is an operation on a virtual machine, usually run as a task.
type operation = infrav1.TaskOperation

const (
	clone     = infrav1.CloneOperation
	configure = infrav1.ConfigureOperation
	powerOn   = infrav1.PowerOnOperation
	powerOff  = infrav1.PowerOffOperation
	destroy   = infrav1.DestroyOperation
	upgrade   = infrav1.UpgradeHardwareOperation
	addDevice = infrav1.AddDevicesOperation

	// These start no task on the virtual machine, and are never recorded.
	join operation = "join"
	tag  operation = "tag"

	joinModule operation = "joinModule"
)

// taskKey identifies a task. Every vCenter numbers its tasks from one, so the reference alone is not unique.
type taskKey struct{ server, task string }

// tasks maps the tasks in flight to their objects as soon as they are started. status.taskRef holds the same and survives a
// restart, but vCenter may report the end of a quick task before the cache shows it.
type tasks struct {
	mu     sync.Mutex
	flying map[taskKey]client.ObjectKey
}

func (t *tasks) add(key taskKey, by client.ObjectKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.flying == nil {
		t.flying = map[taskKey]client.ObjectKey{}
	}
	t.flying[key] = by
}

func (t *tasks) remove(key taskKey) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.flying, key)
}

func (t *tasks) owner(key taskKey) (client.ObjectKey, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	by, ok := t.flying[key]
	return by, ok
}

// has reports whether this process has started the task.
func (t *tasks) has(key taskKey) bool {
	_, ok := t.owner(key)
	return ok
}

// inFlight returns the key of the recorded task.
func inFlight(vm *infrav1.VSphereVM) taskKey {
	return taskOn(vm.Spec.Server, vm.Status.TaskRef)
}

// taskOn returns the key of a task on a server, for all spellings of the server.
func taskOn(server, task string) taskKey {
	return taskKey{server: infrav1.ServerAddress(server), task: task}
}

// recordTask records a task in flight.
func (r *Reconciler) recordTask(s *scope, task string, to operation) {
	s.vm.Status.TaskRef, s.vm.Status.TaskOperation = task, to
	r.tasks.add(inFlight(s.vm), client.ObjectKeyFromObject(s.vm))
}

// clearTask clears the task in flight.
func (r *Reconciler) clearTask(s *scope) {
	r.tasks.remove(inFlight(s.vm))
	s.vm.Status.TaskRef, s.vm.Status.TaskOperation = "", ""
}

// requeueIfTaskEnded requeues immediately if the task in flight has already ended: its event may have arrived before the task was
// mapped to its object.
func (r *Reconciler) requeueIfTaskEnded(s *scope, after time.Duration) time.Duration {
	if s.session == nil || s.vm.Status.TaskRef == "" || s.finished.Ref == s.vm.Status.TaskRef {
		return after
	}
	task, ok := s.session.Task(s.vm.Status.TaskRef)
	if ok && task.Done() && !s.waitsForInventory {
		return time.Millisecond
	}
	return after
}
