// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/vmware/govmomi/vim25/methods"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// drsStream is what keeps the index up to date that groups and rules are read from.
type drsStream interface {
	// Refresh reads properties of an object into the index.
	Refresh(ctx context.Context, r inventory.Ref, properties ...string) error
	// Run starts a task and waits for it.
	Run(ctx context.Context, doing string, start func(context.Context, soap.RoundTripper) (inventory.Ref, error)) error
}

// drsOptions are what Groups are written with.
type drsOptions struct {
	API    *transport.SOAPClient
	Index  *inventory.Index
	Stream drsStream
	Turns  *groupTurns // of all who write groups of this vCenter
	Server string      // for a vCenter that does not tell its identity
	// Joined is told of a virtual machine that has been put into a group, or could not be.
	Joined func(inventory.VM)
	// Background runs the writers, unless the session is over.
	Background func(func(context.Context))
}

// drsGroups are those of a vCenter, and the joins that wait, for each compute cluster.
type drsGroups struct {
	api        *transport.SOAPClient
	index      *inventory.Index
	stream     drsStream
	turns      *groupTurns
	server     string
	joined     func(inventory.VM)
	background func(func(context.Context))

	mu     sync.Mutex
	queues map[inventory.Ref][]inventory.Membership // present while a writer is at work
	failed map[inventory.Ref]map[inventory.Membership]error
}

// newDRSGroups has no joins yet.
func newDRSGroups(o drsOptions) *drsGroups {
	return &drsGroups{
		api: o.API, index: o.Index, stream: o.Stream, turns: o.Turns, server: o.Server, joined: o.Joined, background: o.Background,
		queues: map[inventory.Ref][]inventory.Membership{}, failed: map[inventory.Ref]map[inventory.Membership]error{},
	}
}

// Change writes what f makes of the groups and rules of a compute cluster as they are now, while nobody else of this process writes
// them.
func (g *drsGroups) Change(ctx context.Context, cluster inventory.Ref, f func(inventory.Clustered) *types.ClusterConfigSpecEx) error {
	done, err := g.turns.take(ctx, g.vcenter(), cluster)
	if err != nil {
		return err
	}
	defer done()
	if err := g.stream.Refresh(ctx, cluster, "configurationEx"); err != nil {
		return err
	}
	has, ok := g.index.ClusteredOf(cluster)
	if !ok || !has.Readable {
		return fmt.Errorf("reading groups and rules: %w", vcerrors.ErrForbidden)
	}
	if spec := f(has); len(spec.GroupSpec)+len(spec.RulesSpec) > 0 {
		if err := g.reconfigure(ctx, cluster, spec); err != nil {
			return err
		}
	}
	return g.stream.Refresh(ctx, cluster, "configurationEx")
}

// Gone is nil if vCenter says that it has no such compute cluster, and an error that says so if the account only cannot see it.
func (g *drsGroups) Gone(ctx context.Context, cluster inventory.Ref) error {
	err := g.api.Retrieve(ctx, "reading "+cluster.String(), cluster, []string{"name"}, func([]types.DynamicProperty) {})
	switch {
	case errors.Is(err, vcerrors.ErrNotFound):
		return nil
	case err == nil:
		return fmt.Errorf("%w: the account cannot see the compute cluster", vcerrors.ErrForbidden)
	}
	return err
}

// reconfigure changes groups and rules, and waits for the task.
func (g *drsGroups) reconfigure(ctx context.Context, cluster inventory.Ref, spec *types.ClusterConfigSpecEx) error {
	return g.stream.Run(ctx, "reconfiguring "+cluster.Value, func(ctx context.Context, rt soap.RoundTripper) (inventory.Ref, error) {
		res, err := methods.ReconfigureComputeResource_Task(ctx, rt, &types.ReconfigureComputeResource_Task{
			This: cluster, Spec: spec, Modify: true,
		})
		if err != nil {
			return inventory.Ref{}, err
		}
		return res.Returnval, nil
	})
}

// vcenter identifies the vCenter, which may be known by several names.
func (g *drsGroups) vcenter() string {
	return cmp.Or(g.api.ServiceContent.About.InstanceUuid, g.server)
}

// groupTurns let the sessions of a pool write the groups of a compute cluster one after the other, whatever accounts
// they have: who writes members that were read before another's write takes that one's out again. Its zero value is ready
// to use.
type groupTurns struct {
	mu    sync.Mutex
	turns map[string]*groupTurn // while somebody writes or waits
}

type groupTurn struct {
	taken chan struct{}
	users int
}

// take waits until nobody else writes. The caller ends its turn with done.
func (t *groupTurns) take(ctx context.Context, vcenter string, cluster inventory.Ref) (done func(), err error) {
	id := vcenter + "/" + cluster.Value
	its := t.join(id)
	select {
	case its.taken <- struct{}{}:
		return func() {
			<-its.taken
			t.leave(id)
		}, nil
	case <-ctx.Done():
		t.leave(id)
		return nil, ctx.Err()
	}
}

func (t *groupTurns) join(id string) *groupTurn {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.turns == nil {
		t.turns = map[string]*groupTurn{}
	}
	its := t.turns[id]
	if its == nil {
		its = &groupTurn{taken: make(chan struct{}, 1)}
		t.turns[id] = its
	}
	its.users++
	return its
}

func (t *groupTurns) leave(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	its := t.turns[id]
	if its.users--; its.users == 0 {
		delete(t.turns, id)
	}
}
