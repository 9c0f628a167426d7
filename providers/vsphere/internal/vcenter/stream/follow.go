// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

const (
	// addWindow is how long tasks are collected before the stream is interrupted for them. Their effects often end the stream's
	// call anyway.
	addWindow = 50 * time.Millisecond
	// pollInterval is how long the session relies on the stream before it reads the running tasks; the interval doubles each time,
	// up to maxPollInterval.
	pollInterval    = 4 * time.Second
	maxPollInterval = 5 * time.Minute
	// taskAge is how long an ended task is kept for late callers.
	taskAge = 10 * time.Minute
	// crowded is how many ended objects a view may hold before it is changed for their removal alone.
	crowded = 100
)

// follower keeps a list view on vCenter. It holds the running tasks that the session has started or looked up: vCenter's own
// list of recent tasks would hold them too, but its changes need not be reported. It also holds the virtual machines whose
// details are followed.
//
// Only the stream's goroutine changes the view, and only between two calls of the stream. Thus one call covers all changes of a
// short time. Furthermore, vcsim deadlocks when a view is changed while it is being reported.
type follower struct {
	changed chan struct{} // full when there is something to add

	mu     sync.Mutex
	list   listView
	wanted map[inventory.Ref]struct{} // virtual machines in the list, or about to be added
	pollAt time.Time                  // zero: no task is running
	pause  time.Duration
}

// listView is a view on vCenter with its pending changes.
type listView struct {
	view        inventory.Ref
	add, remove []inventory.Ref
}

func newFollower() *follower {
	return &follower{changed: make(chan struct{}, 1), wanted: map[inventory.Ref]struct{}{}}
}

// createView creates the view on vCenter.
func (s *Stream) createView(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	res, err := methods.CreateListView(ctx, s.api, &types.CreateListView{This: *s.api.ServiceContent.ViewManager})
	if err == nil {
		s.follower.list.view = res.Returnval
	}
	return err
}

// FollowTask records a running task in the index, and queues it to be added to the view.
func (s *Stream) FollowTask(r inventory.Ref, task inventory.Task) {
	if s.index.Track(r, task) {
		s.follower.put(r)
	}
}

func (f *follower) put(task inventory.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.add = append(f.list.add, task)
	f.pause, f.pollAt = pollInterval, time.Now().Add(pollInterval)
	f.notify()
}

// notify makes the stream's goroutine change the view. The caller must hold the lock.
func (f *follower) notify() {
	select {
	case f.changed <- struct{}{}:
	default:
	}
}

// ended removes a task from the view when the view is next changed.
func (f *follower) ended(task inventory.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.drop(task)
}

// want follows the details of a virtual machine, at once or with the next response of the stream.
func (f *follower) want(vm inventory.Ref, atOnce bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, already := f.wanted[vm]; already {
		return
	}
	f.wanted[vm] = struct{}{}
	if f.list.keep(vm) {
		return
	}
	f.list.add = append(f.list.add, vm)
	if atOnce {
		f.notify()
	}
}

// unwant stops following the details of deleted virtual machines.
func (f *follower) unwant(vms ...inventory.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, vm := range vms {
		if _, wanted := f.wanted[vm]; wanted {
			delete(f.wanted, vm)
			f.list.drop(vm)
		}
	}
}

// take returns the pending changes of the view.
func (f *follower) take() listView {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.changed:
	default:
	}
	return f.list.take()
}

// giveBack restores the changes of take after they may have failed. Making them twice is harmless.
func (f *follower) giveBack(undone listView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.add, f.list.remove = append(undone.add, f.list.add...), append(undone.remove, f.list.remove...)
	f.notify()
}

func (l *listView) drop(r inventory.Ref) {
	if at := slices.Index(l.add, r); at >= 0 {
		l.add = slices.Delete(l.add, at, at+1)
	} else {
		l.remove = append(l.remove, r)
	}
}

// keep cancels the pending removal of an object and reports whether there was one.
func (l *listView) keep(r inventory.Ref) bool {
	at := slices.Index(l.remove, r)
	if at >= 0 {
		l.remove = slices.Delete(l.remove, at, at+1)
	}
	return at >= 0
}

// take returns and clears the pending changes, unless they are few and can wait.
func (l *listView) take() listView {
	if len(l.add) == 0 && len(l.remove) < crowded {
		return listView{}
	}
	due := *l
	l.add, l.remove = nil, nil
	return due
}

// untilPoll returns the time until the running tasks must be read.
func (f *follower) untilPoll() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.pollAt.IsZero() {
		return maxWait // longer than the stream's call takes
	}
	return time.Until(f.pollAt)
}

// polled schedules the next read of the running tasks after one that started at began. Tasks added since are read on their own
// schedule.
func (f *follower) polled(began time.Time, underWay bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !underWay {
		if !f.pollAt.After(began) {
			f.pollAt = time.Time{}
		}
		return
	}
	f.pause = min(2*f.pause, maxPollInterval)
	f.pollAt = time.Now().Add(f.pause)
}

// updateView adds new objects to the view and removes ended ones, in at most one call.
func (s *Stream) updateView(ctx context.Context) error {
	s.index.ForgetTasks(taskAge)
	change := s.follower.take()
	gone, err := s.changeView(ctx, change)
	if err != nil {
		s.follower.giveBack(change)
		return err
	}
	for _, r := range gone {
		if r.Type == "Task" {
			s.notify(s.index.LoseTask(r))
		} else {
			s.follower.unwant(r) // if it returns, it is requested again
		}
	}
	return nil
}

// changeView changes the view and returns the objects that could not be added because they do not exist.
func (s *Stream) changeView(ctx context.Context, change listView) (gone []inventory.Ref, err error) {
	if len(change.add) == 0 && len(change.remove) == 0 {
		return nil, nil
	}
	bounded, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	res, err := methods.ModifyListView(bounded, s.api, &types.ModifyListView{This: change.view, Add: change.add, Remove: change.remove})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(res.Returnval, func(r inventory.Ref) bool { return !slices.Contains(change.add, r) }), nil
}

// pollTasks reads the running tasks in one call, because the stream may have missed the last change of one. It reports
// whether any had ended.
func (s *Stream) pollTasks(ctx context.Context) bool {
	began := time.Now()
	underWay := s.index.TasksUnderWay()
	s.follower.polled(began, len(underWay) > 0)
	if len(underWay) == 0 {
		return false
	}
	read, err := s.api.RetrieveAll(ctx, "reading running tasks", underWay, inventory.TaskProperties())
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("reading running tasks", "error", err)
		}
		return false
	}
	set := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{}}}
	for _, r := range underWay {
		update := types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: r} // vCenter does not have it any more
		if properties, ok := read[r]; ok {
			update = entering(r, properties)
		}
		set.FilterSet[0].ObjectSet = append(set.FilterSet[0].ObjectSet, update)
	}
	c := s.index.Apply(set)
	s.notify(c)
	return len(c.Tasks) > 0
}

// Want follows the details of a virtual machine from now on. Missing details are reported by VMChanged. A powered-off machine
// runs no guest, so its details can wait: the stream reports when it is powered on.
func (s *Stream) Want(vm inventory.Ref, power inventory.PowerState) {
	s.follower.want(vm, power == inventory.PoweredOn)
}
