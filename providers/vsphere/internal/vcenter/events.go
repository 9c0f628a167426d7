// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"sync"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

func (s *Session) emit(e Event) {
	e.Server = s.server
	s.opts.OnEvent(e)
}

// report emits events for the changes.
func (s *Session) report(c inventory.Changes) {
	for _, task := range c.Tasks {
		if task.Err != nil && task.EntityRef.Type == "VirtualMachine" {
			s.templates.forget(task.EntityRef) // the cached template may be the reason for the failure
		}
		s.emit(s.taskEvent(task))
	}
	for _, vm := range c.VMs {
		s.emit(changed(vm))
	}
	for _, vm := range c.Configured {
		if s.hardware.Watched(vm.Ref) {
			s.emit(changed(vm))
		}
	}
	if s.tags.Changed(c.Tags) || c.Structural {
		s.notify.trigger()
	}
}

// taskEvent returns an event that names the virtual machine of a task, so that its owner is enqueued even if it had no time to
// record the task.
func (s *Session) taskEvent(task inventory.Task) Event {
	e := Event{Kind: TaskDone, Task: task.Ref}
	if vm, ok := s.index.About(task); ok {
		e.VM, e.InstanceUUID, e.BiosUUID, e.Name = vm.Ref, vm.InstanceUUID, vm.BiosUUID, vm.Name
	}
	return e
}

// joined emits an event for a virtual machine that was added to a group, or could not be.
func (s *Session) joined(vm inventory.VM) {
	s.emit(Event{Kind: VMChanged, InstanceUUID: vm.InstanceUUID, BiosUUID: vm.BiosUUID, Name: vm.Name})
}

func changed(vm inventory.Machine) Event {
	return Event{Kind: VMChanged, VM: vm.Ref.String(), InstanceUUID: vm.InstanceUUID, BiosUUID: vm.BiosUUID, Name: vm.Name}
}

// debouncer calls f once for all triggers within a short time.
type debouncer struct {
	mu      sync.Mutex
	f       func()
	pending *time.Timer
	stopped bool
}

const debounce = 250 * time.Millisecond

func newDebouncer(f func()) *debouncer { return &debouncer{f: f} }

func (d *debouncer) trigger() {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.pending == nil && !d.stopped {
		d.pending = time.AfterFunc(debounce, d.fire)
	}
}

func (d *debouncer) fire() {
	d.mu.Lock()
	d.pending = nil
	stopped := d.stopped
	d.mu.Unlock()
	if !stopped {
		d.f()
	}
}

func (d *debouncer) stop() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.stopped = true
	if d.pending != nil {
		d.pending.Stop()
	}
}
