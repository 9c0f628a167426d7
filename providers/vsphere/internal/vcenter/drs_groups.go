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

// drsStream keeps the index from which groups and rules are read up to date.
type drsStream interface {
	// Refresh reads properties of an object into the index.
	Refresh(ctx context.Context, r inventory.Ref, properties ...string) error
	// Run starts a task and waits for it.
	Run(ctx context.Context, doing string, start func(context.Context, soap.RoundTripper) (inventory.Ref, error)) error
}

// drsOptions configures drsGroups.
type drsOptions struct {
	API    *transport.SOAPClient
	Index  *inventory.Index
	Stream drsStream
	Locks  *clusterLocks // shared by all writers of groups in this vCenter
	Server string        // for a vCenter that does not report its identity
	// Joined is called after a virtual machine was added to a group, or adding it failed.
	Joined func(inventory.VM)
	// Background runs the writers, unless the session has ended.
	Background func(func(context.Context))
}

// drsGroups writes the DRS groups and rules of a vCenter. It holds the pending joins of each compute cluster.
type drsGroups struct {
	api        *transport.SOAPClient
	index      *inventory.Index
	stream     drsStream
	locks      *clusterLocks
	server     string
	joined     func(inventory.VM)
	background func(func(context.Context))

	mu     sync.Mutex
	queues map[inventory.Ref][]inventory.Membership // present while a writer is running
	failed map[inventory.Ref]map[inventory.Membership]error
}

// newDRSGroups returns drsGroups without pending joins.
func newDRSGroups(o drsOptions) *drsGroups {
	return &drsGroups{
		api: o.API, index: o.Index, stream: o.Stream, locks: o.Locks, server: o.Server, joined: o.Joined, background: o.Background,
		queues: map[inventory.Ref][]inventory.Membership{}, failed: map[inventory.Ref]map[inventory.Membership]error{},
	}
}

// Change applies the change that f computes from the current groups and rules of a compute cluster. No other writer in this
// process writes them meanwhile.
func (g *drsGroups) Change(ctx context.Context, cluster inventory.Ref, f func(inventory.Clustered) *types.ClusterConfigSpecEx) error {
	done, err := g.locks.lock(ctx, g.vcenter(), cluster)
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

// ConfirmDeleted returns nil if vCenter confirms that the compute cluster does not exist, and an error if the account merely cannot see
// it.
func (g *drsGroups) ConfirmDeleted(ctx context.Context, cluster inventory.Ref) error {
	err := g.api.Retrieve(ctx, "reading "+cluster.String(), cluster, []string{"name"}, func([]types.DynamicProperty) {})
	switch {
	case errors.Is(err, vcerrors.ErrNotFound):
		return nil
	case err == nil:
		return fmt.Errorf("%w: the account cannot see the compute cluster", vcerrors.ErrForbidden)
	}
	return err
}

// reconfigure changes groups and rules and waits for the task.
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

// vcenter returns an identifier of the vCenter that does not depend on the configured server name.
func (g *drsGroups) vcenter() string {
	return cmp.Or(g.api.ServiceContent.About.InstanceUuid, g.server)
}

// clusterLocks serializes writes to the groups of a compute cluster across all sessions of a pool, whatever their accounts.
// Members are replaced as a whole: a writer that read them before another's write would remove what the other one added. The
// zero value is ready to use.
type clusterLocks struct {
	mu    sync.Mutex
	locks map[string]*clusterLock // present while there is a writer or a waiter
}

type clusterLock struct {
	held  chan struct{}
	users int
}

// lock blocks until there is no other writer. The caller must call done.
func (t *clusterLocks) lock(ctx context.Context, vcenter string, cluster inventory.Ref) (done func(), err error) {
	id := vcenter + "/" + cluster.Value
	its := t.acquire(id)
	select {
	case its.held <- struct{}{}:
		return func() {
			<-its.held
			t.release(id)
		}, nil
	case <-ctx.Done():
		t.release(id)
		return nil, ctx.Err()
	}
}

func (t *clusterLocks) acquire(id string) *clusterLock {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.locks == nil {
		t.locks = map[string]*clusterLock{}
	}
	its := t.locks[id]
	if its == nil {
		its = &clusterLock{held: make(chan struct{}, 1)}
		t.locks[id] = its
	}
	its.users++
	return its
}

func (t *clusterLocks) release(id string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	its := t.locks[id]
	if its.users--; its.users == 0 {
		delete(t.locks, id)
	}
}
