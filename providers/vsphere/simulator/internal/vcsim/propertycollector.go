// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/mo"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

const (
	// gatherTime is how long changes are gathered into one answer.
	gatherTime = 20 * time.Millisecond
	// maxObjects is vCenter's limit of object updates in one answer.
	maxObjects = 100
)

// Collector replaces vcsim's property collector, which reads the whole inventory
// again for every single change, reads values that others are changing, waits on
// for clients that have gone, and lets only one session at a time hear of changes
// through the default collector.
//
// vcsim makes one for each session by its zero value.
type Collector struct {
	simulator.PropertyCollector

	turn sync.Mutex // one wait at a time

	mu      sync.Mutex
	active  bool
	wake    chan struct{}      // full when there are changes
	cancel  context.CancelFunc // ends the wait under way
	changes changes
	version int
	sent    *types.UpdateSet // the answer of that version
	views   map[types.ManagedObjectReference]*filterView
	pending []types.PropertyFilterUpdate
}

// NewCollector makes one of a reference.
func NewCollector(ref types.ManagedObjectReference) *Collector {
	c := &Collector{}
	c.Self = ref
	return c
}

// changes is what happened since the last look.
type changes struct {
	// order lists the changed objects, names what changed of each.
	order []types.ManagedObjectReference
	names map[types.ManagedObjectReference][]string
	// added says that entities have come, or may be in sight that were not, removed which objects have gone.
	added   bool
	removed []types.ManagedObjectReference
}

// changeFeed feeds a collector. It has an identity of its own because every session's
// default collector has the same one, and the registry keeps one listener for each.
type changeFeed struct {
	self      types.ManagedObjectReference
	collector *Collector
	silent    []string // properties whose changes are not reported
}

func (l *changeFeed) Reference() types.ManagedObjectReference { return l.self }

func (l *changeFeed) PutObject(_ *simulator.Context, obj mo.Reference) {
	if _, ok := obj.(mo.Entity); ok {
		l.collector.note(func(c *changes) { c.added = true })
	}
}

func (l *changeFeed) UpdateObject(_ *simulator.Context, obj mo.Reference, set []types.PropertyChange) {
	set = slices.DeleteFunc(slices.Clone(set), func(change types.PropertyChange) bool { return slices.Contains(l.silent, change.Name) })
	if len(set) == 0 {
		return
	}
	l.collector.note(func(c *changes) {
		ref := obj.Reference()
		if c.names == nil {
			c.names = map[types.ManagedObjectReference][]string{}
		}
		if _, ok := c.names[ref]; !ok {
			c.order = append(c.order, ref)
		}
		for _, change := range set {
			if change.Name == "childEntity" {
				c.added = true // what comes into sight so may be found by other ways too
			}
			if !slices.Contains(c.names[ref], change.Name) {
				c.names[ref] = append(c.names[ref], change.Name)
			}
		}
	})
}

func (l *changeFeed) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	l.collector.note(func(c *changes) { c.removed = append(c.removed, ref) })
}

func (c *Collector) note(record func(*changes)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	record(&c.changes)
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// activate starts to listen, once.
func (c *Collector) activate(ctx *simulator.Context) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.active {
		return
	}
	c.active = true
	c.wake = make(chan struct{}, 1)
	world := worldOf(ctx)
	self := types.ManagedObjectReference{Type: "Listener", Value: uuid.NewString()}
	world.Listen(ctx, &changeFeed{self: self, collector: c, silent: world.Silent()})
}

// CreatePropertyCollector makes another one of this kind for the session.
func (c *Collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := NewCollector(types.ManagedObjectReference{Type: "PropertyCollector"})
	return &methods.CreatePropertyCollectorBody{
		Res: &types.CreatePropertyCollectorResponse{Returnval: ctx.Session.Put(made).Reference()},
	}
}

// CreateFilter wakes a wait under way, which reports the filter's objects.
func (c *Collector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.wake <- struct{}{}:
	default:
	}
	return c.PropertyCollector.CreateFilter(ctx, req)
}

// DestroyPropertyCollector ends the wait under way too.
func (c *Collector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.CancelWaitForUpdates(nil)
	return c.PropertyCollector.DestroyPropertyCollector(ctx, req)
}

// CancelWaitForUpdates makes the wait under way fail with RequestCanceled.
func (c *Collector) CancelWaitForUpdates(*types.CancelWaitForUpdates) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	return &methods.CancelWaitForUpdatesBody{Res: &types.CancelWaitForUpdatesResponse{}}
}

// WaitForUpdates is the old form, without options.
func (c *Collector) WaitForUpdates(ctx *simulator.Context, req *types.WaitForUpdates) soap.HasFault {
	body := &methods.WaitForUpdatesBody{}
	answer := c.WaitForUpdatesEx(ctx, &types.WaitForUpdatesEx{This: req.This, Version: req.Version})
	if body.Fault_ = answer.Fault(); body.Fault_ == nil {
		body.Res = &types.WaitForUpdatesResponse{
			Returnval: *answer.(*methods.WaitForUpdatesExBody).Res.Returnval,
		}
	}
	return body
}

// WaitForUpdatesEx returns what has changed since the version; without one it
// answers all objects of the filters.
func (c *Collector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	c.activate(ctx)
	wait, cancel := c.bound(ctx, req)
	defer cancel()
	c.turn.Lock()
	defer c.turn.Unlock()
	if req.Version == "" {
		c.restart()
	} else if lost := c.unheard(req.Version); lost != nil {
		return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: lost}}
	}
	limit := maxObjects
	if req.Options != nil && req.Options.MaxObjectUpdates > 0 {
		limit = min(limit, int(req.Options.MaxObjectUpdates))
	}
	for {
		set, fault := c.update(ctx, limit)
		if fault != nil {
			return waitFault(fault)
		}
		if set != nil || req.Version == "" {
			return c.answer(set)
		}
		if answer, over := c.idle(wait, req); over {
			return answer
		}
	}
}

// unheard returns the last answer again to a client that has not received it.
func (c *Collector) unheard(version string) *types.UpdateSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == strconv.Itoa(c.version-1) {
		return c.sent
	}
	return nil
}

// bound limits the wait by the client's connection, by cancellation and by the end
// of the session. It ends the wait before it, if that is still under way.
func (c *Collector) bound(ctx *simulator.Context, req *types.WaitForUpdatesEx) (context.Context, context.CancelFunc) {
	wait, cancel := context.WithCancel(worldOf(ctx).Bound(ctx, req.This))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	c.cancel = cancel
	return wait, cancel
}

// idle returns true when there is nothing to wait for any more.
func (c *Collector) idle(wait context.Context, req *types.WaitForUpdatesEx) (soap.HasFault, bool) {
	var timeout <-chan time.Time
	if req.Options != nil && req.Options.MaxWaitSeconds != nil {
		timer := time.NewTimer(time.Duration(*req.Options.MaxWaitSeconds) * time.Second)
		defer timer.Stop()
		timeout = timer.C
	}
	select {
	case <-wait.Done():
		if errors.Is(context.Cause(wait), ErrExpired) {
			return waitFault(notAuthenticated(req.This)), true
		}
		return waitFault(&types.RequestCanceled{}), true
	case <-timeout:
		return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{}}, true
	case <-c.wake:
	}
	gather := time.NewTimer(gatherTime)
	defer gather.Stop()
	select {
	case <-wait.Done():
	case <-gather.C:
	}
	return nil, false
}

func waitFault(fault types.BaseMethodFault) soap.HasFault {
	return &methods.WaitForUpdatesExBody{Fault_: simulator.Fault(faultMessage(fault), fault)}
}

// answer gives the set a new version, or an empty set when there is none.
func (c *Collector) answer(set *types.UpdateSet) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if set == nil {
		set = &types.UpdateSet{}
	}
	c.version++
	set.Version = strconv.Itoa(c.version)
	c.sent = set
	return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: set}}
}
