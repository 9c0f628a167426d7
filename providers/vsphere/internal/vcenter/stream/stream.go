// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
)

const (
	// maxWait is how long vCenter holds the call of an idle stream. One call in this time also keeps the session from expiring,
	// by default after half an hour.
	maxWait = 5 * time.Minute
	// waitGrace is the additional time for a response before the connection is given up.
	waitGrace = time.Minute
	// pageTimeout bounds one page of the initial inventory.
	pageTimeout = 2 * time.Minute
	// coalesce is the delay before the next call of the stream, so that a burst of changes shares one. It grows to maxCoalesce
	// while responses follow one another.
	coalesce    = 50 * time.Millisecond
	maxCoalesce = 4 * coalesce
	// minOverdue and minReread bound how soon a stream is given up, and how often the inventory is read instead.
	minOverdue = 2 * time.Second
	minReread  = 300 * time.Millisecond
)

// Options configures a Stream.
type Options struct {
	API       *transport.SOAPClient
	Index     *inventory.Index
	Staleness *StalenessCheck
	Log       *slog.Logger
	// Report is called with the changes after they were applied to the index.
	Report func(inventory.Changes)
	// Background runs work concurrently with the stream, unless the session has ended.
	Background func(func(context.Context))
}

// Stream follows the inventory with a property collector of vCenter.
type Stream struct {
	api        *transport.SOAPClient
	index      *inventory.Index
	staleness  *StalenessCheck
	log        *slog.Logger
	report     func(inventory.Changes)
	background func(func(context.Context))

	collector types.ManagedObjectReference
	position  string        // version of the last response; used by the stream's goroutine only
	readTook  time.Duration // duration of the last read of the whole inventory
	lags      bool          // the stream was behind before
	whole     bool          // the index holds everything that existed when the stream was opened
	follower  *follower
	tagEvents tagEvents
}

// New returns a Stream without calling anything.
func New(o Options) *Stream {
	return &Stream{
		api: o.API, index: o.Index, staleness: o.Staleness, log: o.Log, report: o.Report, background: o.Background, follower: newFollower(),
	}
}

// Open reads the whole inventory into the index without reporting it.
func (s *Stream) Open(ctx context.Context) error {
	if err := s.createView(ctx); err != nil {
		return err
	}
	if err := s.collectTagEvents(ctx); err != nil {
		return err
	}
	return s.open(ctx, func(inventory.Changes) {})
}

// open creates the property collector with its filters and reads the whole inventory, page by page. It abandons a previous
// collector. used is called with the changes of each page.
//
// The inventory's filter walks from the root folder: a container view would change with every virtual machine, and vcsim
// reports a whole view again when it changes. The filters of tasks and of details walk from one list view.
func (s *Stream) open(ctx context.Context, used func(inventory.Changes)) error {
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
			used(s.apply(set))
		}
	}
	used(s.index.Sweep(seen))
	s.readTook, s.whole = time.Since(began), true
	return nil
}

func (s *Stream) makeCollector(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, transport.Timeout)
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
	if err := s.followTagEvents(ctx); err != nil {
		return err
	}
	for _, spec := range []types.PropertyFilterSpec{{
		ObjectSet: []types.ObjectSpec{{Obj: content.RootFolder, SelectSet: inventoryTree()}},
		PropSet:   inventory.Followed(),
	}, listed(s.follower.list.view, "Task", inventory.TaskProperties()), listed(s.follower.list.view, "VirtualMachine", inventory.DetailProperties())} {
		res, err := methods.CreateFilter(ctx, s.api, &types.CreateFilter{This: s.collector, Spec: spec})
		if err != nil {
			return err
		}
		s.index.SetDetailsFilter(res.Returnval) // the last one is the details filter
	}
	return nil
}

// listed returns a filter of the objects of a kind in a list view. Deleted objects may stay in the view for a while.
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

// inventoryTree walks from the root folder to every object that the index keeps. Steps refer to one another by name. Virtual
// machines in vApps, which are in no folder, are left out.
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

// Follow applies the responses of the stream until it is interrupted or the session is lost, and returns why.
func (s *Stream) Follow(ctx context.Context) error {
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
			transport.Pause(ctx, calm)
		}
	}
}

// step processes one response of the stream, and reports whether another page of it follows.
func (s *Stream) step(ctx context.Context) (more bool, err error) {
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
	s.notify(s.apply(set))
	return isTrue(set.Truncated), nil
}

var (
	// errBehind means that the stream reports changes much later than a full read would.
	errBehind = errors.New("event stream is behind")
	// errStale means that another call failed in a way in which the stream's call may be about to fail.
	errStale = errors.New("the connection may be broken")
)

// listen waits for the stream's next response. The call ends early, without a response, when new tasks must be followed.
func (s *Stream) listen(ctx context.Context) (*types.UpdateSet, error) {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	if err := s.staleness.watch(func() { giveUp(errStale) }); err != nil {
		return nil, err
	}
	defer func() { _ = s.staleness.watch(nil) }()
	over := make(chan struct{})
	var guard sync.WaitGroup
	guard.Go(func() { s.guard(ctx, over, giveUp) })
	set, err := s.wait(ctx, maxWait, maxWait+waitGrace)
	close(over)
	guard.Wait()
	switch {
	case errors.Is(context.Cause(ctx), errBehind) && err != nil:
		return nil, errBehind
	case errors.Is(context.Cause(ctx), errStale) && err != nil:
		return nil, s.staleness.watch(nil)
	case fault.Is(err, &types.RequestCanceled{}):
		return nil, nil
	}
	return set, err
}

// guard supervises a call of the stream: it interrupts it for new tasks, reads the running tasks that the stream does not
// report, and gives up on a stream that is behind.
func (s *Stream) guard(ctx context.Context, over <-chan struct{}, giveUp context.CancelCauseFunc) {
	look := time.NewTimer(s.follower.untilPoll())
	defer look.Stop()
	for {
		select {
		case <-over:
			return
		case <-s.follower.changed:
			s.interrupt(ctx, over, giveUp)
			return
		case <-look.C:
			if s.pollTasks(ctx) && !within(over, s.overdue()) { // the stream should have reported it, too
				giveUp(errBehind)
				return
			}
			look.Reset(s.follower.untilPoll())
		}
	}
}

// interrupt ends a call of the stream. It tries repeatedly because the call may not have reached vCenter yet.
func (s *Stream) interrupt(ctx context.Context, over <-chan struct{}, giveUp context.CancelCauseFunc) {
	if within(over, addWindow) {
		return
	}
	for began := time.Now(); time.Since(began) < s.overdue(); {
		bounded, cancel := context.WithTimeout(ctx, transport.Timeout)
		_, err := methods.CancelWaitForUpdates(bounded, s.api, &types.CancelWaitForUpdates{This: s.collector})
		cancel()
		if err != nil {
			s.log.Debug("interrupting the stream", "error", err)
		}
		if within(over, s.overdue()/4) {
			return
		}
	}
	giveUp(errBehind)
}

// within waits for the end of something for at most d, and reports whether it ended.
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

// overdue returns how long a stream may take to report an event that is known to have happened. If reading the whole inventory
// takes long, reporting its changes may, too. For a stream that was behind before the limit is shorter.
func (s *Stream) overdue() time.Duration {
	limit := minOverdue
	if s.lags {
		limit /= 4
	}
	return max(limit, 10*s.readTook)
}

// catchUp reopens the stream for as long as that yields changes. The changes queued in the old stream are dropped: vcsim reads
// the whole inventory for each single change, and takes minutes for what a hundred virtual machines do in a few seconds.
func (s *Stream) catchUp(ctx context.Context) error {
	s.lags = true
	s.log.Debug("event stream is behind, reading the inventory")
	for news := true; news && ctx.Err() == nil; {
		if err := s.updateView(ctx); err != nil {
			return err
		}
		news = false
		if err := s.open(ctx, func(c inventory.Changes) {
			news = news || len(c.VMs) > 0 || len(c.Tasks) > 0 || c.Structural
			s.notify(c)
		}); err != nil {
			return err
		}
		transport.Pause(ctx, max(minReread, 2*s.readTook))
	}
	return nil
}

// wait requests the changes since the last response.
func (s *Stream) wait(ctx context.Context, serverWait, timeout time.Duration) (*types.UpdateSet, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	res, err := methods.WaitForUpdatesEx(ctx, s.api, &types.WaitForUpdatesEx{
		This: s.collector, Version: s.position,
		Options: &types.WaitOptions{MaxWaitSeconds: types.NewInt32(int32(serverWait.Seconds()))},
	})
	if err != nil {
		return nil, err
	}
	if res.Returnval != nil {
		s.position = res.Returnval.Version
	}
	return res.Returnval, nil
}

// notify updates what is followed, and reports the changes.
func (s *Stream) notify(c inventory.Changes) {
	for _, task := range c.Tasks {
		s.follower.ended(inventory.ParseRef("Task", task.Ref))
		if task.State == inventory.TaskSuccess && task.ResultRef.Type == "VirtualMachine" {
			s.Want(task.ResultRef, inventory.PoweredOff) // its owner is about to request it
		}
		s.complete(task)
	}
	s.follower.unwant(c.Gone...)
	s.report(c)
}
