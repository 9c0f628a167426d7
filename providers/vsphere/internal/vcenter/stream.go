// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/calls"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
)

const (
	// maxWait is how long vCenter keeps an idle stream's call. One call in this time also keeps the session from
	// expiring, which it does after half an hour by default.
	maxWait = 5 * time.Minute
	// waitGrace is what an answer may take beyond that before the connection is given up.
	waitGrace = time.Minute
	// pageTimeout bounds one page of the first inventory.
	pageTimeout = 2 * time.Minute
	// coalesce is the pause before the next call of the stream, so that a burst of changes shares one. It grows to
	// maxCoalesce while one answer follows the other.
	coalesce    = 50 * time.Millisecond
	maxCoalesce = 4 * coalesce
	// minOverdue and minReread bound how soon a stream is given up, and how often the inventory is read instead.
	minOverdue = 2 * time.Second
	minReread  = 300 * time.Millisecond
)

// openStream makes the property collector with its filters and reads the whole inventory, page by page. A stream that
// was there before is given up. used is told of what each page changes.
//
// The inventory's filter walks from the root folder: a container view would change with every virtual machine, and vcsim
// reports a whole view again when it changes. The filters of tasks and of details walk from one list view.
func (s *Session) openStream(ctx context.Context, used func(inventory.Changes)) error {
	s.whole = false
	if err := s.makeCollector(ctx); err != nil {
		return err
	}
	began, seen := time.Now(), map[inventory.Ref]struct{}{}
	for more := true; more; {
		set, err := s.wait(ctx, 0, pageTimeout)
		if err != nil {
			return err
		}
		if more = set != nil && isTrue(set.Truncated); set != nil {
			s.index.Note(seen, set)
			used(s.index.Apply(set))
		}
	}
	used(s.index.Sweep(seen))
	s.readTook, s.whole = time.Since(began), true
	return nil
}

func (s *Session) makeCollector(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, calls.Timeout)
	defer cancel()
	content := s.api.ServiceContent
	if s.collector != (inventory.Ref{}) {
		if _, err := methods.DestroyPropertyCollector(ctx, s.api, &types.DestroyPropertyCollector{This: s.collector}); err != nil {
			return err
		}
	}
	made, err := methods.CreatePropertyCollector(ctx, s.api, &types.CreatePropertyCollector{This: content.PropertyCollector})
	if err != nil {
		return err
	}
	s.collector, s.position = made.Returnval, ""
	for _, spec := range []types.PropertyFilterSpec{{
		ObjectSet: []types.ObjectSpec{{Obj: content.RootFolder, SelectSet: inventoryTree()}},
		PropSet:   inventory.Followed(),
	}, listed(s.follower.list.view, "Task", inventory.TaskProperties()), listed(s.follower.list.view, "VirtualMachine", inventory.DetailProperties())} {
		res, err := methods.CreateFilter(ctx, s.api, &types.CreateFilter{This: s.collector, Spec: spec})
		if err != nil {
			return err
		}
		s.index.SetDetailsFilter(res.Returnval) // the last one's
	}
	return nil
}

// listed is a filter of what is in a list view and of the kind. What is gone may be in the view for a while.
func listed(view inventory.Ref, kind string, properties []string) types.PropertyFilterSpec {
	return types.PropertyFilterSpec{
		ObjectSet: []types.ObjectSpec{{
			Obj: view, Skip: types.NewBool(true), SelectSet: []types.BaseSelectionSpec{step("ListView", "view")},
		}},
		PropSet:                       []types.PropertySpec{{Type: kind, PathSet: properties}},
		ReportMissingObjectsInResults: types.NewBool(true),
	}
}

func isTrue(b *bool) bool { return b != nil && *b }

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

// follow applies what the stream reports until it is interrupted or the session is lost, and returns why.
func (s *Session) follow(ctx context.Context) error {
	for calm := coalesce; ; {
		began := time.Now()
		more, err := s.step(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return streamError(err)
		}
		if calm = min(2*calm, maxCoalesce); time.Since(began) > maxCoalesce {
			calm = coalesce
		}
		if !more {
			pause(ctx, calm)
		}
	}
}

// step takes one answer of the stream, and reports whether another page of it is to come.
func (s *Session) step(ctx context.Context) (more bool, err error) {
	if err := s.updateView(ctx); err != nil {
		return false, err
	}
	set, err := s.listen(ctx)
	if errors.Is(err, errBehind) {
		return false, s.catchUp(ctx)
	}
	if err != nil || set == nil {
		return false, err
	}
	s.report(s.index.Apply(set))
	return isTrue(set.Truncated), nil
}

var (
	// errBehind says that the stream tells of changes much later than reading everything would.
	errBehind = errors.New("the stream is behind")
	// errDoubted says that another call has failed in a way that the stream's may be about to.
	errDoubted = errors.New("the connection is in doubt")
)

// listen waits for the stream's next answer. The call ends early, without an answer, when there are tasks to be followed.
func (s *Session) listen(ctx context.Context) (*types.UpdateSet, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if err := s.doubts.watch(func() { giveUp(errDoubted) }); err != nil {
		return nil, err
	}
	defer func() { _ = s.doubts.watch(nil) }()
	over := make(chan struct{})
	var guard sync.WaitGroup
	guard.Go(func() { s.guard(ctx, over, giveUp) })
	set, err := s.wait(ctx, maxWait, maxWait+waitGrace)
	close(over)
	guard.Wait()
	switch {
	case errors.Is(context.Cause(ctx), errBehind) && err != nil:
		return nil, errBehind
	case errors.Is(context.Cause(ctx), errDoubted) && err != nil:
		return nil, s.doubts.watch(nil)
	case fault.Is(err, &types.RequestCanceled{}):
		return nil, nil
	}
	return set, err
}

// guard looks after a call of the stream: it interrupts it for new tasks, looks at tasks that it does not report, and gives
// up on a stream that is behind.
func (s *Session) guard(ctx context.Context, over <-chan struct{}, giveUp context.CancelCauseFunc) {
	look := time.NewTimer(s.follower.untilLook())
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-s.follower.news:
			s.interrupt(ctx, over, giveUp)
			return
		case <-look.C:
			if s.lookAtTasks(ctx) && !within(over, s.overdue()) { // it should have told, too
				giveUp(errBehind)
				return
			}
			look.Reset(s.follower.untilLook())
		}
	}
}

// interrupt ends a call of the stream, more than once because the call may not have arrived yet.
func (s *Session) interrupt(ctx context.Context, over <-chan struct{}, giveUp context.CancelCauseFunc) {
	if within(over, addWindow) {
		return
	}
	for began := time.Now(); time.Since(began) < s.overdue(); {
		bounded, cancel := context.WithTimeout(ctx, calls.Timeout)
		_, err := methods.CancelWaitForUpdates(bounded, s.api, &types.CancelWaitForUpdates{This: s.collector})
		cancel()
		if err != nil {
			s.opts.Log.Debug("interrupting the stream", "server", s.server, "error", err)
		}
		if within(over, s.overdue()/4) {
			return
		}
	}
	giveUp(errBehind)
}

// within waits for the end of something, so long at most, and reports whether it came.
func within(over <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-over:
		return true
	case <-timer.C:
		return false
	}
}

// overdue is how long a stream may keep silent about what is known to have happened. Where reading the whole inventory
// takes long, so may reporting its changes. A stream that was behind before is soon behind again.
func (s *Session) overdue() time.Duration {
	patience := minOverdue
	if s.lags {
		patience /= 4
	}
	return max(patience, 10*s.readTook)
}

// catchUp opens the stream anew as long as that brings news. What has gathered in the old one is never told: vcsim reads
// the whole inventory for each single change, and takes minutes for what a hundred virtual machines do in a few seconds.
func (s *Session) catchUp(ctx context.Context) error {
	s.lags = true
	s.opts.Log.Debug("the stream is behind, reading the inventory", "server", s.server)
	for news := true; news && ctx.Err() == nil; {
		if err := s.updateView(ctx); err != nil {
			return err
		}
		news = false
		if err := s.openStream(ctx, func(c inventory.Changes) {
			news = news || len(c.VMs) > 0 || len(c.Tasks) > 0 || c.Structural
			s.report(c)
		}); err != nil {
			return err
		}
		pause(ctx, max(minReread, 2*s.readTook))
	}
	return nil
}

// wait asks for what happened since the last answer.
func (s *Session) wait(ctx context.Context, patience, timeout time.Duration) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res, err := methods.WaitForUpdatesEx(ctx, s.api, &types.WaitForUpdatesEx{
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
func (s *Session) report(c inventory.Changes) {
	for _, task := range c.Tasks {
		s.follower.ended(inventory.ParseRef("Task", task.Ref))
		if task.Err != nil && task.EntityRef.Type == "VirtualMachine" {
			s.templates.forget(task.EntityRef) // what was read of it may be the reason
		}
		if task.State == inventory.TaskSuccess && task.ResultRef.Type == "VirtualMachine" {
			s.want(task.ResultRef, inventory.PoweredOff) // its owner is about to ask for it
		}
		s.completeClone(task)
		s.emit(s.taskEvent(task))
	}
	s.follower.unwant(c.Gone...)
	for _, vm := range c.VMs {
		s.emit(changed(vm))
	}
	for _, vm := range c.Configured {
		if s.hardware.Watched(vm.Ref) {
			s.emit(changed(vm))
		}
	}
	if c.Structural {
		s.notify.trigger()
	}
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
