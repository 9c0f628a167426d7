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
	// addWindow is how long tasks are gathered before the stream is interrupted for them. What they do often ends the
	// stream's call of itself.
	addWindow = 50 * time.Millisecond
	// lookAgain is how long the session relies on the stream before it asks for the tasks under way; the pause doubles
	// with each look.
	lookAgain    = 4 * time.Second
	maxLookAgain = 5 * time.Minute
	// taskAge is how long the end of a task is remembered for those who ask late.
	taskAge = 10 * time.Minute
	// crowded is how much a view may hold that has ended before it is changed for the sake of that alone.
	crowded = 100
)

// follower keeps a list view on vCenter. It has the tasks under way that the session has started or was asked about:
// vCenter's own list of recent tasks would hold them too, but its changes need not be reported. It also has the virtual
// machines whose details are followed.
//
// Only the stream's goroutine changes the view, and only between two calls of the stream: that is one call for all of a
// short time, and vcsim locks itself out for good when a view is changed while it is being reported.
type follower struct {
	news chan struct{} // full when there is something to add

	mu     sync.Mutex
	list   listView
	wanted map[inventory.Ref]struct{} // virtual machines in the list, or about to be
	lookAt time.Time                  // zero: nothing is under way
	pause  time.Duration
}

// listView is a view on vCenter, and how it is to be changed.
type listView struct {
	view        inventory.Ref
	add, remove []inventory.Ref
}

func newFollower() *follower {
	return &follower{news: make(chan struct{}, 1), wanted: map[inventory.Ref]struct{}{}}
}

// createView makes the view on vCenter.
func (s *Stream) createView(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transport.Timeout)
	defer cancel()
	res, err := methods.CreateListView(ctx, s.api, &types.CreateListView{This: *s.api.ServiceContent.ViewManager})
	if err == nil {
		s.follower.list.view = res.Returnval
	}
	return err
}

// FollowTask makes a task that is under way known to those who ask, and has it added to the view.
func (s *Stream) FollowTask(r inventory.Ref, task inventory.Task) {
	if s.index.Track(r, task) {
		s.follower.put(r)
	}
}

func (f *follower) put(task inventory.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.add = append(f.list.add, task)
	f.pause, f.lookAt = lookAgain, time.Now().Add(lookAgain)
	f.tell()
}

// tell has the stream's goroutine change the view. The lock is held.
func (f *follower) tell() {
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// ended has a task removed from the view when it is next changed.
func (f *follower) ended(task inventory.Ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.drop(task)
}

// want has the details of a virtual machine followed, at once or as soon as the stream has something else to report.
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
		f.tell()
	}
}

// unwant ends that for virtual machines that are gone.
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

// take returns how the view is to be changed.
func (f *follower) take() listView {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.news:
	default:
	}
	return f.list.take()
}

// giveBack undoes take after a change that may not have been made. To make it twice does no harm.
func (f *follower) giveBack(undone listView) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.list.add, f.list.remove = append(undone.add, f.list.add...), append(undone.remove, f.list.remove...)
	f.tell()
}

func (l *listView) drop(r inventory.Ref) {
	if at := slices.Index(l.add, r); at >= 0 {
		l.add = slices.Delete(l.add, at, at+1)
	} else {
		l.remove = append(l.remove, r)
	}
}

// keep reports whether what was to be dropped is in the view still, and leaves it there.
func (l *listView) keep(r inventory.Ref) bool {
	at := slices.Index(l.remove, r)
	if at >= 0 {
		l.remove = slices.Delete(l.remove, at, at+1)
	}
	return at >= 0
}

// take empties the lists of changes, unless there is little to do that can wait.
func (l *listView) take() listView {
	if len(l.add) == 0 && len(l.remove) < crowded {
		return listView{}
	}
	due := *l
	l.add, l.remove = nil, nil
	return due
}

// untilLook is how long to wait with the next look at the tasks under way.
func (f *follower) untilLook() time.Duration {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lookAt.IsZero() {
		return maxWait // longer than the stream's call takes
	}
	return time.Until(f.lookAt)
}

// looked sets the time of the look after one that began then. A task that has been put since is looked at in its turn.
func (f *follower) looked(began time.Time, underWay bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !underWay {
		if !f.lookAt.After(began) {
			f.lookAt = time.Time{}
		}
		return
	}
	f.pause = min(2*f.pause, maxLookAgain)
	f.lookAt = time.Now().Add(f.pause)
}

// updateView adds to the view what is new and removes what has ended: at most one call.
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
			s.tell(s.index.LoseTask(r))
		} else {
			s.follower.unwant(r) // one that comes back is asked for again
		}
	}
	return nil
}

// changeView returns what could not be added because it is gone.
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

// lookAtTasks asks for the tasks under way, one call for all: of one the stream may have missed the last change. It
// reports whether any had ended.
func (s *Stream) lookAtTasks(ctx context.Context) bool {
	began := time.Now()
	underWay := s.index.TasksUnderWay()
	s.follower.looked(began, len(underWay) > 0)
	if len(underWay) == 0 {
		return false
	}
	read, err := s.api.RetrieveAll(ctx, "looking after tasks", underWay, inventory.TaskProperties())
	if err != nil {
		if ctx.Err() == nil {
			s.log.Warn("looking after tasks", "error", err)
		}
		return false
	}
	set := &types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{}}}
	for _, r := range underWay {
		update := types.ObjectUpdate{Kind: types.ObjectUpdateKindLeave, Obj: r} // vCenter has forgotten it
		if properties, ok := read[r]; ok {
			update = entering(r, properties)
		}
		set.FilterSet[0].ObjectSet = append(set.FilterSet[0].ObjectSet, update)
	}
	c := s.index.Apply(set)
	s.tell(c)
	return len(c.Tasks) > 0
}

// Want has the details of a virtual machine followed from now on. What is not known yet is reported by VMChanged. No guest
// runs in one that is switched off, and the stream reports when it is switched on.
func (s *Stream) Want(vm inventory.Ref, power inventory.PowerState) {
	s.follower.want(vm, power == inventory.PoweredOn)
}
