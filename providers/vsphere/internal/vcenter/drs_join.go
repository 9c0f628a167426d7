// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

const (
	// joinWindow is how long joins are collected, so that a burst shares one reconfiguration.
	joinWindow = 50 * time.Millisecond
	// joinTimeout bounds a reconfiguration, so that a hanging cluster does not block its queue forever.
	joinTimeout = 5 * time.Minute
	// joinTries is how often groups are read and written when a member is deleted in between.
	joinTries = 3
)

// Join adds a virtual machine to a VM group of its compute cluster. It reports whether the machine is a member, according to
// the last report of vCenter. If it is not, the join is queued: Options.Joined is called when it has succeeded or failed. After
// a failure the next call returns the error, once.
func (g *drsGroups) Join(cluster inventory.Ref, m inventory.Membership) (bool, error) {
	if g.index.InGroup(cluster, m.Group, m.VM) {
		return true, nil
	}
	return false, g.join(cluster, m)
}

// join returns the error of the last attempt, or queues the virtual machine.
func (g *drsGroups) join(cluster inventory.Ref, m inventory.Membership) error {
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
		g.background(func(ctx context.Context) { g.write(ctx, cluster) })
	}
	return nil
}

// write processes the queue of a cluster.
func (g *drsGroups) write(ctx context.Context, cluster inventory.Ref) {
	for {
		transport.Pause(ctx, joinWindow)
		done, err := g.locks.lock(ctx, g.vcenter(), cluster)
		if err != nil {
			return // the session is over; callers that still want to join use the next one
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

// take empties a queue and returns its joins. It removes a queue that is already empty.
func (g *drsGroups) take(cluster inventory.Ref) []inventory.Membership {
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

func (g *drsGroups) finish(cluster inventory.Ref, joins []inventory.Membership, failures map[inventory.Membership]error) {
	g.mu.Lock()
	for m, err := range failures {
		if g.failed[cluster] == nil {
			g.failed[cluster] = map[inventory.Membership]error{}
		}
		g.failed[cluster][m] = err
	}
	g.forgetDeleted()
	g.mu.Unlock()
	for _, m := range joins {
		if vm, ok := g.index.VMOf(m.VM); ok {
			g.joined(vm)
		}
	}
}

// forgetDeleted drops the results of joins of deleted virtual machines, which no caller will ask for.
func (g *drsGroups) forgetDeleted() {
	for cluster, failed := range g.failed {
		maps.DeleteFunc(failed, func(m inventory.Membership, _ error) bool {
			_, there := g.index.VMOf(m.VM)
			return !there
		})
		if len(failed) == 0 {
			delete(g.failed, cluster)
		}
	}
}

// add writes the groups with their new members and returns the joins that failed. vCenter rejects a group if any of its virtual
// machines was deleted after the group was read; the groups are then read and written again.
func (g *drsGroups) add(ctx context.Context, cluster inventory.Ref, joins []inventory.Membership, tries int) map[inventory.Membership]error {
	failures := map[inventory.Membership]error{}
	if len(joins) == 0 {
		return failures
	}
	fail := func(err error, which ...inventory.Membership) {
		for _, m := range which {
			failures[m] = fmt.Errorf("joining group %s: %w", m.Group, err)
		}
	}
	if err := g.stream.Refresh(ctx, cluster, "configurationEx"); err != nil {
		fail(err, joins...)
		return failures
	}
	wanted := g.index.MembersWith(cluster, joins)
	var writing []inventory.Membership
	for _, m := range joins {
		if members, exists := wanted[m.Group]; !exists {
			fail(fmt.Errorf("%w: the compute cluster has no VM group with that name", vcerrors.ErrNotFound), m)
		} else if members != nil {
			writing = append(writing, m)
		}
	}
	if len(writing) == 0 {
		return failures
	}
	if err := g.writeMembers(ctx, cluster, wanted); err != nil {
		if errors.Is(err, vcerrors.ErrNotFound) && tries > 1 {
			return g.add(ctx, cluster, g.present(joins), tries-1)
		}
		fail(err, writing...)
		return failures
	}
	if err := g.stream.Refresh(ctx, cluster, "configurationEx"); err != nil {
		fail(err, writing...)
	}
	return failures
}

// present drops the joins of deleted virtual machines, whose results no caller will ask for.
func (g *drsGroups) present(joins []inventory.Membership) []inventory.Membership {
	return slices.DeleteFunc(slices.Clone(joins), func(m inventory.Membership) bool {
		_, there := g.index.VMOf(m.VM)
		return !there
	})
}

func (g *drsGroups) writeMembers(ctx context.Context, cluster inventory.Ref, wanted map[string][]inventory.Ref) error {
	spec := &types.ClusterConfigSpecEx{}
	for name, members := range wanted {
		if members != nil {
			spec.GroupSpec = append(spec.GroupSpec, types.ClusterGroupSpec{
				ArrayUpdateSpec: types.ArrayUpdateSpec{Operation: types.ArrayUpdateOperationEdit},
				Info:            &types.ClusterVmGroup{ClusterGroupInfo: types.ClusterGroupInfo{Name: name}, Vm: members},
			})
		}
	}
	return g.reconfigure(ctx, cluster, spec)
}
