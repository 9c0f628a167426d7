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
	// gatherTime is how long changes are collected for one response.
	gatherTime = 20 * time.Millisecond
	// maxObjects is vCenter's limit of object updates in one response.
	maxObjects = 100
)

// Collector replaces vcsim's property collector, which reads the whole inventory again for every single change, reads values
// while they are being changed, keeps waiting for disconnected clients, and delivers changes of the default collector to only one
// session at a time.
//
// vcsim creates one for each session from its zero value.
type Collector struct {
	simulator.PropertyCollector

	waiting sync.Mutex // one wait at a time

	mu      sync.Mutex
	active  bool
	notify  chan struct{}      // filled if there are changes
	cancel  context.CancelFunc // cancels the pending wait
	changes changes
	version int
	sent    *types.UpdateSet // the response with that version
	views   map[types.ManagedObjectReference]*filterView
	pending []types.PropertyFilterUpdate
}

// NewCollector returns a collector with this reference.
func NewCollector(ref types.ManagedObjectReference) *Collector {
	c := &Collector{}
	c.Self = ref
	return c
}

// changes holds the changes since the last update.
type changes struct {
	// order lists the changed objects; names lists the changed properties of each.
	order []types.ManagedObjectReference
	names map[types.ManagedObjectReference][]string
	// added is true if entities were created, or may have become visible; removed lists removed objects.
	added   bool
	removed []types.ManagedObjectReference
}

// changeFeed feeds a collector. It has its own reference, because the default collectors of all sessions share one, and the
// registry keeps one listener for each reference.
type changeFeed struct {
	self      types.ManagedObjectReference
	collector *Collector
	silent    []string // properties whose changes are not reported
}

func (l *changeFeed) Reference() types.ManagedObjectReference { return l.self }

func (l *changeFeed) PutObject(_ *simulator.Context, obj mo.Reference) {
	if _, ok := obj.(mo.Entity); ok {
		l.collector.record(func(c *changes) { c.added = true })
	}
}

func (l *changeFeed) UpdateObject(_ *simulator.Context, obj mo.Reference, set []types.PropertyChange) {
	set = slices.DeleteFunc(slices.Clone(set), func(change types.PropertyChange) bool { return slices.Contains(l.silent, change.Name) })
	if len(set) == 0 {
		return
	}
	l.collector.record(func(c *changes) {
		ref := obj.Reference()
		if c.names == nil {
			c.names = map[types.ManagedObjectReference][]string{}
		}
		if _, ok := c.names[ref]; !ok {
			c.order = append(c.order, ref)
		}
		for _, change := range set {
			if change.Name == "childEntity" {
				c.added = true // objects that become visible may also be found on other paths
			}
			if !slices.Contains(c.names[ref], change.Name) {
				c.names[ref] = append(c.names[ref], change.Name)
			}
		}
	})
}

func (l *changeFeed) RemoveObject(_ *simulator.Context, ref types.ManagedObjectReference) {
	l.collector.record(func(c *changes) { c.removed = append(c.removed, ref) })
}

func (c *Collector) record(edit func(*changes)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	edit(&c.changes)
	select {
	case c.notify <- struct{}{}:
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
	c.notify = make(chan struct{}, 1)
	backend := backendOf(ctx)
	self := types.ManagedObjectReference{Type: "Listener", Value: uuid.NewString()}
	backend.Listen(ctx, &changeFeed{self: self, collector: c, silent: backend.Silent()})
}

// CreatePropertyCollector creates another collector of this type for the session.
func (c *Collector) CreatePropertyCollector(ctx *simulator.Context, _ *types.CreatePropertyCollector) soap.HasFault {
	made := NewCollector(types.ManagedObjectReference{Type: "PropertyCollector"})
	return &methods.CreatePropertyCollectorBody{
		Res: &types.CreatePropertyCollectorResponse{Returnval: ctx.Session.Put(made).Reference()},
	}
}

// CreateFilter interrupts a pending wait, which then reports the filter's objects.
func (c *Collector) CreateFilter(ctx *simulator.Context, req *types.CreateFilter) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	select {
	case c.notify <- struct{}{}:
	default:
	}
	return c.PropertyCollector.CreateFilter(ctx, req)
}

// DestroyPropertyCollector also cancels the pending wait.
func (c *Collector) DestroyPropertyCollector(ctx *simulator.Context, req *types.DestroyPropertyCollector) soap.HasFault {
	c.CancelWaitForUpdates(nil)
	return c.PropertyCollector.DestroyPropertyCollector(ctx, req)
}

// CancelWaitForUpdates makes the pending wait fail with RequestCanceled.
func (c *Collector) CancelWaitForUpdates(*types.CancelWaitForUpdates) soap.HasFault {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	return &methods.CancelWaitForUpdatesBody{Res: &types.CancelWaitForUpdatesResponse{}}
}

// WaitForUpdates is the deprecated form without options.
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

// WaitForUpdatesEx returns the changes since the version; without a version it returns all objects of the filters.
func (c *Collector) WaitForUpdatesEx(ctx *simulator.Context, req *types.WaitForUpdatesEx) soap.HasFault {
	c.activate(ctx)
	wait, cancel := c.startWait(ctx, req)
	defer cancel()
	c.waiting.Lock()
	defer c.waiting.Unlock()
	if req.Version == "" {
		c.restart()
	} else if last := c.lastResponse(req.Version); last != nil {
		return &methods.WaitForUpdatesExBody{Res: &types.WaitForUpdatesExResponse{Returnval: last}}
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
			return c.respond(set)
		}
		if answer, over := c.waitForChanges(wait, req); over {
			return answer
		}
	}
}

// lastResponse returns the last response again for a client that has not received it.
func (c *Collector) lastResponse(version string) *types.UpdateSet {
	c.mu.Lock()
	defer c.mu.Unlock()
	if version == strconv.Itoa(c.version-1) {
		return c.sent
	}
	return nil
}

// startWait limits the wait to the lifetime of the client's connection, cancellation and session. It cancels a previous wait that is
// still pending.
func (c *Collector) startWait(ctx *simulator.Context, req *types.WaitForUpdatesEx) (context.Context, context.CancelFunc) {
	wait, cancel := context.WithCancel(backendOf(ctx).WaitContext(ctx, req.This))
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cancel != nil {
		c.cancel()
	}
	c.cancel = cancel
	return wait, cancel
}

// waitForChanges waits for changes and returns true with the response if the wait ends without any.
func (c *Collector) waitForChanges(wait context.Context, req *types.WaitForUpdatesEx) (soap.HasFault, bool) {
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
	case <-c.notify:
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

// respond assigns a new version to the set; nil is replaced by an empty set.
func (c *Collector) respond(set *types.UpdateSet) soap.HasFault {
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
