// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// maxWait is how long vCenter keeps an idle stream's call. One call in this time also keeps the session from
	// expiring, which it does after half an hour by default.
	maxWait = 5 * time.Minute
	// waitGrace is what an answer may take beyond that before the connection is given up.
	waitGrace = time.Minute
	// pageTimeout bounds one page of the first inventory.
	pageTimeout = 2 * time.Minute
	// coalesce is the pause before the next call of the stream, so that a burst of changes shares one.
	coalesce = 50 * time.Millisecond
)

// openStream makes the property collector and its one filter, which walks from the root folder and the task manager. A
// container view would change with every virtual machine, and vcsim reports a whole view again when it changes.
func (s *Session) openStream(ctx context.Context) error {
	content := s.client.ServiceContent
	collector, err := methods.CreatePropertyCollector(ctx, s.client, &types.CreatePropertyCollector{This: content.PropertyCollector})
	if err != nil {
		return err
	}
	s.collector = collector.Returnval
	_, err = methods.CreateFilter(ctx, s.client, &types.CreateFilter{
		This: s.collector,
		Spec: types.PropertyFilterSpec{
			ObjectSet: []types.ObjectSpec{
				{Obj: content.RootFolder, SelectSet: inventoryTree()},
				{
					Obj: *content.TaskManager, Skip: types.NewBool(true),
					SelectSet: []types.BaseSelectionSpec{step("TaskManager", "recentTask")},
				},
			},
			PropSet: followed(),
		},
	})
	return err
}

// inventoryTree walks from the root folder to every object that the index keeps. Steps refer to one another by name.
// Virtual machines in vApps, which are in no folder, are left out.
func inventoryTree() []types.BaseSelectionSpec {
	below := []string{
		"Folder.childEntity", "Datacenter.hostFolder", "Datacenter.vmFolder", "Datacenter.datastoreFolder",
		"Datacenter.networkFolder", "ComputeResource.host", "ComputeResource.resourcePool",
	}
	pools := []string{"ResourcePool.resourcePool"}
	return []types.BaseSelectionSpec{
		step("Folder", "childEntity", below...),
		step("Datacenter", "hostFolder", below[0]),
		step("Datacenter", "vmFolder", below[0]),
		step("Datacenter", "datastoreFolder", below[0]),
		step("Datacenter", "networkFolder", below[0]),
		step("ComputeResource", "host"),
		step("ComputeResource", "resourcePool", pools...),
		step("ResourcePool", "resourcePool", pools...),
	}
}

func step(kind, path string, next ...string) *types.TraversalSpec {
	t := &types.TraversalSpec{SelectionSpec: types.SelectionSpec{Name: kind + "." + path}, Type: kind, Path: path}
	for _, name := range next {
		t.SelectSet = append(t.SelectSet, &types.SelectionSpec{Name: name})
	}
	return t
}

// followed names the properties that the index keeps: small ones that change rarely. A cluster's groups and rules come
// with its whole configurationEx because vCenter refuses paths into that property. Of a task its parts are named, so
// that its progress is not reported.
func followed() []types.PropertySpec {
	return []types.PropertySpec{
		{Type: "Folder", PathSet: []string{"name", "parent"}},
		{Type: "Datacenter", PathSet: []string{"name", "parent", "vmFolder"}},
		{Type: "ComputeResource", PathSet: []string{"name", "parent", "host", "network", "resourcePool", "configurationEx"}},
		{Type: "HostSystem", PathSet: []string{"name", "parent", "runtime.connectionState", "runtime.inMaintenanceMode"}},
		{Type: "ResourcePool", PathSet: []string{"name", "parent"}},
		{Type: "Datastore", PathSet: []string{"name", "parent", "host", "summary.accessible", "summary.maintenanceMode"}},
		{Type: "Network", PathSet: []string{"name", "parent", "host"}},
		{Type: "OpaqueNetwork", PathSet: []string{"name", "parent", "host", "summary"}},
		{Type: "DistributedVirtualPortgroup", PathSet: []string{"name", "parent", "host", "key", "config.distributedVirtualSwitch"}},
		{Type: "DistributedVirtualSwitch", PathSet: []string{"name", "parent", "uuid"}},
		{Type: "VirtualMachine", PathSet: vmProperties()},
		{Type: "Task", PathSet: taskProperties()},
	}
}

func vmProperties() []string {
	return []string{
		"name", "parent", "summary.config", "resourcePool", "runtime.host", "runtime.powerState", "runtime.connectionState",
		"guest.net", "guest.toolsRunningStatus", "config.changeVersion", "snapshot.currentSnapshot",
	}
}

func taskProperties() []string {
	return []string{"info.state", "info.descriptionId", "info.entity", "info.result", "info.error"}
}

// readInventory fills the index, page by page.
func (s *Session) readInventory(ctx context.Context) error {
	for {
		set, err := s.wait(ctx, 0, pageTimeout)
		if err != nil {
			return err
		}
		if set == nil {
			return nil
		}
		s.index.apply(set)
		if set.Truncated == nil || !*set.Truncated {
			return nil
		}
	}
}

// follow applies what the stream reports until the session is lost, and returns why.
func (s *Session) follow(ctx context.Context) error {
	for {
		set, err := s.wait(ctx, maxWait, maxWait+waitGrace)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return sessionError(err)
		}
		if set == nil { // nothing happened for so long
			continue
		}
		s.report(s.index.apply(set))
		if set.Truncated == nil || !*set.Truncated {
			pause(ctx, coalesce)
		}
	}
}

// wait asks for what happened since the last answer.
func (s *Session) wait(ctx context.Context, patience, timeout time.Duration) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res, err := methods.WaitForUpdatesEx(ctx, s.client, &types.WaitForUpdatesEx{
		This: s.collector, Version: s.position,
		Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(int32(patience.Seconds()))},
	})
	if err != nil {
		return nil, err
	}
	if res.Returnval != nil {
		s.position = res.Returnval.Version
	}
	return res.Returnval, nil
}

// report tells the world what changed.
func (s *Session) report(c changes) {
	for _, task := range c.tasks {
		if task.Err != nil && task.entity.Type == "VirtualMachine" {
			s.templates.forget(task.entity) // what was read of it may be the reason
		}
		s.completeClone(task)
		s.emit(s.taskEvent(task))
	}
	for _, vm := range c.vms {
		s.emit(Event{Kind: VMChanged, InstanceUUID: vm.instanceUUID, BiosUUID: vm.biosUUID, Name: vm.name})
	}
	if c.structural {
		s.tags.forget()
		s.notify.trigger()
	}
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
