// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"
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
	// crowded is how many ended tasks the view may hold before it is changed for their sake alone.
	crowded = 100
)

// follower keeps a list view on vCenter with the tasks under way that the session has started or was asked about. vCenter's
// own list of recent tasks would hold them too, but its changes need not be reported.
//
// Only the stream's goroutine changes the view, and only between two calls of the stream: that is one call for all tasks
// of a short time, and vcsim locks itself out for good when a view is changed while it is being reported.
type follower struct {
	view ref
	news chan struct{} // full when there are tasks to add

	mu     sync.Mutex
	add    []ref
	remove []ref
	lookAt time.Time // zero: nothing is under way
	pause  time.Duration
}

func newFollower() *follower { return &follower{news: make(chan struct{}, 1)} }

// createView makes the view on vCenter.
func (s *Session) createView(ctx context.Context) error {
	res, err := methods.CreateListView(ctx, s.client, &types.CreateListView{This: *s.client.ServiceContent.ViewManager})
	if err == nil {
		s.follower.view = res.Returnval
	}
	return err
}

// followTask makes a task that is under way known to those who ask, and has it added to the view.
func (s *Session) followTask(r ref, task Task) {
	if s.index.track(r, task) {
		s.follower.put(r)
	}
}

func (f *follower) put(r ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.add = append(f.add, r)
	f.pause, f.lookAt = lookAgain, time.Now().Add(lookAgain)
	select {
	case f.news <- struct{}{}:
	default:
	}
}

// ended has a task removed from the view when it is next changed.
func (f *follower) ended(r ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if at := slices.Index(f.add, r); at >= 0 {
		f.add = slices.Delete(f.add, at, at+1)
	} else {
		f.remove = append(f.remove, r)
	}
}

// take empties the lists of what is to be added and removed.
func (f *follower) take() (add, remove []ref) {
	f.mu.Lock()
	defer f.mu.Unlock()
	select {
	case <-f.news:
	default:
	}
	if len(f.add) == 0 && len(f.remove) < crowded {
		return nil, nil
	}
	add, remove = f.add, f.remove
	f.add, f.remove = nil, nil
	return add, remove
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

// looked sets the time of the next look.
func (f *follower) looked(underWay bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !underWay {
		f.lookAt = time.Time{}
		return
	}
	f.pause = min(2*f.pause, maxLookAgain)
	f.lookAt = time.Now().Add(f.pause)
}

// changeView adds the new tasks to the view and removes those that have ended: at most one call.
func (s *Session) changeView(ctx context.Context) error {
	s.index.forgetTasks(taskAge)
	add, remove := s.follower.take()
	if len(add) == 0 && len(remove) == 0 {
		return nil
	}
	bounded, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	res, err := methods.ModifyListView(bounded, s.client, &types.ModifyListView{This: s.follower.view, Add: add, Remove: remove})
	if err != nil {
		return err
	}
	for _, unknown := range res.Returnval {
		if slices.Contains(add, unknown) {
			s.report(s.index.loseTask(unknown))
		}
	}
	return nil
}

// lookAtTasks asks for the tasks under way, one call for all: of one the stream may have missed the last change. It
// reports whether any had ended.
func (s *Session) lookAtTasks(ctx context.Context) bool {
	underWay := s.index.tasksUnderWay()
	s.follower.looked(len(underWay) > 0)
	if len(underWay) == 0 {
		return false
	}
	read, err := s.retrieveAll(ctx, "looking after tasks", underWay, taskProperties())
	if err != nil {
		if ctx.Err() == nil {
			s.opts.Log.Warn("looking after tasks", "server", s.server, "error", err)
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
	c := s.index.apply(set)
	s.report(c)
	return len(c.tasks) > 0
}

// track notes a task that is under way; false if it is known already.
func (ix *index) track(r ref, task Task) bool {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	if _, known := ix.tasks[r]; known {
		return false
	}
	ix.tasks[r] = task
	return true
}

// loseTask ends a task that vCenter has forgotten. Whoever waits for it must ask.
func (ix *index) loseTask(r ref) changes {
	return ix.apply(&types.UpdateSet{FilterSet: []types.PropertyFilterUpdate{{
		ObjectSet: []types.ObjectUpdate{{Kind: types.ObjectUpdateKindLeave, Obj: r}},
	}}})
}

func (ix *index) tasksUnderWay() []ref {
	ix.mu.RLock()
	defer ix.mu.RUnlock()
	var underWay []ref
	for r, task := range ix.tasks {
		if !task.Done() {
			underWay = append(underWay, r)
		}
	}
	slices.SortFunc(underWay, compareRefs)
	return underWay
}

// forgetTasks drops tasks that ended so long ago.
func (ix *index) forgetTasks(age time.Duration) {
	ix.mu.Lock()
	defer ix.mu.Unlock()
	for r, task := range ix.tasks {
		if task.Done() && time.Since(task.ended) > age {
			delete(ix.tasks, r)
		}
	}
}
