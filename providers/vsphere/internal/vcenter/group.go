// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/calls"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

const (
	// joinWindow is how long joins are collected, so that those of one burst share a reconfiguration.
	joinWindow = 50 * time.Millisecond
	// joinTimeout bounds a reconfiguration, so that a cluster that hangs does not hold its queue for ever.
	joinTimeout = 5 * time.Minute
	// joinTries is how often groups are read and written when a member goes in between.
	joinTries = 3
)

// JoinGroup puts a virtual machine into a DRS group of its compute cluster. It says whether it is in, as far as vCenter
// has reported. If not it is about to be: a VMChanged event follows when it is in, or when that failed, in which case the
// next call returns the error, once.
//
// vCenter replaces the members of a group as a whole. So one writer at a time for each compute cluster takes all the joins
// that are waiting, reads the groups, and writes them with the new members. Nothing keeps out who writes the group through
// another manager: a virtual machine that leaves a group is reported by a VMChanged event, upon which it is to join again.
func (s *Session) JoinGroup(_ context.Context, clusterRef, group, vmRef string) (bool, error) {
	cluster, vm := inventory.ParseRef("ClusterComputeResource", clusterRef), inventory.ParseRef("VirtualMachine", vmRef)
	if s.index.InGroup(cluster, group, vm) {
		return true, nil
	}
	return false, s.groups.join(cluster, inventory.Membership{Group: group, VM: vm})
}

// groups holds the joins that wait, for each compute cluster.
type groups struct {
	s *Session

	mu     sync.Mutex
	queues map[inventory.Ref][]inventory.Membership // present while a writer is at work
	failed map[inventory.Ref]map[inventory.Membership]error
}

func newGroups(s *Session) *groups {
	return &groups{s: s, queues: map[inventory.Ref][]inventory.Membership{}, failed: map[inventory.Ref]map[inventory.Membership]error{}}
}

// join returns what went wrong the last time, or queues the virtual machine.
func (g *groups) join(cluster inventory.Ref, m inventory.Membership) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if err, ok := g.failed[cluster][m]; ok {
		delete(g.failed[cluster], m)
		return err
	}
	queue, busy := g.queues[cluster]
	if !slices.Contains(queue, m) {
		g.queues[cluster] = append(queue, m)
	}
	if !busy {
		g.s.background(func(ctx context.Context) { g.write(ctx, cluster) })
	}
	return nil
}

// write works a cluster's queue off.
func (g *groups) write(ctx context.Context, cluster inventory.Ref) {
	for {
		calls.Pause(ctx, joinWindow)
		done, err := g.s.opts.writers.turn(ctx, g.s.vcenter(), cluster)
		if err != nil {
			return // the session is over; who still wants to join asks the next one
		}
		joins := g.take(cluster)
		bounded, cancel := context.WithTimeout(ctx, joinTimeout)
		failures := g.add(bounded, cluster, joins, joinTries)
		cancel()
		done()
		if len(joins) == 0 || ctx.Err() != nil {
			return
		}
		g.finish(cluster, joins, failures)
	}
}

// groupWriters lets the sessions of a pool write the groups of a compute cluster one after the other, whatever accounts
// they have: who writes members that were read before another's write takes that one's out again. Its zero value is ready
// to use.
type groupWriters struct {
	mu    sync.Mutex
	turns map[string]chan struct{}
}

// turn waits until nobody else writes. The caller ends its turn with done.
func (w *groupWriters) turn(ctx context.Context, vcenter string, cluster inventory.Ref) (done func(), err error) {
	w.mu.Lock()
	if w.turns == nil {
		w.turns = map[string]chan struct{}{}
	}
	id := vcenter + "/" + cluster.Value
	turn, ok := w.turns[id]
	if !ok {
		turn = make(chan struct{}, 1)
		w.turns[id] = turn
	}
	w.mu.Unlock()
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// vcenter identifies the vCenter, which may be known by several names.
func (s *Session) vcenter() string {
	return cmp.Or(s.api.ServiceContent.About.InstanceUuid, s.server)
}

// take empties a queue, and removes one that is empty already.
func (g *groups) take(cluster inventory.Ref) []inventory.Membership {
	g.mu.Lock()
	defer g.mu.Unlock()
	joins := g.queues[cluster]
	if len(joins) == 0 {
		delete(g.queues, cluster)
	} else {
		g.queues[cluster] = []inventory.Membership{}
	}
	return joins
}

func (g *groups) finish(cluster inventory.Ref, joins []inventory.Membership, failures map[inventory.Membership]error) {
	g.mu.Lock()
	for m, err := range failures {
		if g.failed[cluster] == nil {
			g.failed[cluster] = map[inventory.Membership]error{}
		}
		g.failed[cluster][m] = err
	}
	g.mu.Unlock()
	for _, m := range joins {
		if vm, ok := g.s.VMByRef(m.VM.String()); ok {
			g.s.emit(Event{Kind: VMChanged, InstanceUUID: vm.InstanceUUID, BiosUUID: vm.BiosUUID, Name: vm.Name})
		}
	}
}

// add writes the groups with their new members and returns the joins that failed. vCenter refuses a group with a virtual
// machine that has gone since the group was read, whoever's it is: then everything is read and written again.
func (g *groups) add(ctx context.Context, cluster inventory.Ref, joins []inventory.Membership, tries int) map[inventory.Membership]error {
	failures := map[inventory.Membership]error{}
	if len(joins) == 0 {
		return failures
	}
	fail := func(err error, which ...inventory.Membership) {
		for _, m := range which {
			failures[m] = fmt.Errorf("joining group %s: %w", m.Group, err)
		}
	}
	if err := g.s.stream.Refresh(ctx, cluster, "configurationEx"); err != nil {
		fail(err, joins...)
		return failures
	}
	wanted := g.s.index.MembersWith(cluster, joins)
	var writing []inventory.Membership
	for _, m := range joins {
		if members, exists := wanted[m.Group]; !exists {
			fail(fmt.Errorf("%w: the compute cluster has no group of virtual machines of that name", vcerrors.ErrNotFound), m)
		} else if members != nil {
			writing = append(writing, m)
		}
	}
	if len(writing) == 0 {
		return failures
	}
	if err := g.reconfigure(ctx, cluster, wanted); err != nil {
		if errors.Is(err, vcerrors.ErrNotFound) && tries > 1 {
			return g.add(ctx, cluster, g.present(joins), tries-1)
		}
		fail(err, writing...)
		return failures
	}
	if err := g.s.stream.Refresh(ctx, cluster, "configurationEx"); err != nil {
		fail(err, writing...)
	}
	return failures
}

// present leaves out the joins of virtual machines that have gone themselves. Nobody asks what became of those.
func (g *groups) present(joins []inventory.Membership) []inventory.Membership {
	return slices.DeleteFunc(slices.Clone(joins), func(m inventory.Membership) bool {
		_, there := g.s.VMByRef(m.VM.String())
		return !there
	})
}

func (g *groups) reconfigure(ctx context.Context, cluster inventory.Ref, wanted map[string][]inventory.Ref) error {
	spec := &types.ClusterConfigSpecEx{}
	for name, members := range wanted {
		if members != nil {
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
				Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Vm: members},
			})
		}
	}
	return g.s.reconfigureCluster(ctx, cluster, spec)
}

// reconfigureCluster changes groups and rules, and waits for the task.
func (s *Session) reconfigureCluster(ctx context.Context, cluster inventory.Ref, spec *types.ClusterConfigSpecEx) error {
	return s.stream.Run(ctx, "reconfiguring "+cluster.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.ReconfigureComputeResource_Task(ctx, rt, &types.ReconfigureComputeResource_Task{
			This: cluster, Spec: spec, Modify: true,
		})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// HasGroup reports whether the compute cluster has a group of virtual machines of that name, as far as the account sees.
func (s *Session) HasGroup(clusterRef, group string) bool {
	return s.index.HasGroup(inventory.ParseRef("ClusterComputeResource", clusterRef), group)
}
