// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/vmware/govmomi/vapi/cluster"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// clusterModules manages the cluster modules of a vCenter. A module never moves to another compute cluster, so its cluster is
// cached.
type clusterModules struct {
	rest *transport.RESTClient

	mu    sync.Mutex
	known map[string]string
}

// newClusterModules returns clusterModules without calling vCenter.
func newClusterModules(client *transport.RESTClient) *clusterModules {
	return &clusterModules{rest: client, known: map[string]string{}}
}

// Clusters returns the compute cluster of each module that the account can see. It makes no call if all wanted modules are
// cached.
func (m *clusterModules) Clusters(ctx context.Context, wanted ...string) (map[string]string, error) {
	known := m.all()
	if !slices.ContainsFunc(wanted, func(uuid string) bool { return known[uuid] == "" }) {
		return known, nil
	}
	return m.List(ctx)
}

// List is Clusters without the cache.
func (m *clusterModules) List(ctx context.Context) (map[string]string, error) {
	var listed []cluster.ModuleSummary
	err := m.rest.Run(ctx, "listing cluster modules", func(ctx context.Context) (err error) {
		listed, err = cluster.NewManager(m.rest.Client).ListModules(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	m.mu.Lock()
	m.known = map[string]string{}
	for _, module := range listed {
		m.known[module.Module] = inventory.Ref{Type: "ClusterComputeResource", Value: module.Cluster}.String()
	}
	m.mu.Unlock()
	return m.all(), nil
}

func (m *clusterModules) all() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.known)
}

func (m *clusterModules) set(uuid, compute string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known[uuid] = compute; compute == "" {
		delete(m.known, uuid)
	}
}

// Create creates a cluster module. Modules have no names, so it cannot be found again by name.
func (m *clusterModules) Create(ctx context.Context, clusterRef string) (uuid string, err error) {
	r := inventory.ParseRef("ClusterComputeResource", clusterRef)
	err = m.rest.Run(ctx, "creating a cluster module in "+r.Value, func(ctx context.Context) (err error) {
		uuid, err = cluster.NewManager(m.rest.Client).CreateModule(ctx, r)
		return err
	})
	if err == nil {
		m.set(uuid, r.String())
	}
	return uuid, err
}

// Delete deletes a cluster module, if it exists. Its virtual machines stay where they are.
func (m *clusterModules) Delete(ctx context.Context, uuid string) error {
	err := m.rest.Run(ctx, "deleting cluster module "+uuid, func(ctx context.Context) error {
		return transport.IgnoreNotFound(cluster.NewManager(m.rest.Client).DeleteModule(ctx, uuid))
	})
	if err == nil {
		m.set(uuid, "")
	}
	return err
}

// Members returns the virtual machines of a module. ErrNotFound means that vCenter does not have the module.
func (m *clusterModules) Members(ctx context.Context, uuid string) (members []string, err error) {
	err = m.rest.Run(ctx, "looking up cluster module "+uuid, func(ctx context.Context) error {
		refs, err := cluster.NewManager(m.rest.Client).ListModuleMembers(ctx, uuid)
		for _, r := range refs {
			members = append(members, r.String())
		}
		return err
	})
	return members, err
}

// Join adds a virtual machine to a module of its compute cluster. It makes one call, and a second one if the machine was a
// member already.
func (m *clusterModules) Join(ctx context.Context, uuid, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	var joined bool
	err := m.rest.Run(ctx, "adding "+r.Value+" to cluster module "+uuid, func(ctx context.Context) (err error) {
		joined, err = cluster.NewManager(m.rest.Client).AddModuleMembers(ctx, uuid, r)
		return err
	})
	if errors.Is(err, vcerrors.ErrNotFound) {
		m.set(uuid, "")
	}
	if err != nil || joined {
		return err
	}
	members, err := m.Members(ctx, uuid)
	if err == nil && !slices.Contains(members, r.String()) {
		err = fmt.Errorf("%w: vCenter does not add %s to cluster module %s, which may be in another compute cluster", vcerrors.ErrInvalid, r.Value, uuid)
	}
	return err
}

// Leave removes a virtual machine from a module, if it is a member.
func (m *clusterModules) Leave(ctx context.Context, uuid, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return m.rest.Run(ctx, "removing "+r.Value+" from cluster module "+uuid, func(ctx context.Context) error {
		_, err := cluster.NewManager(m.rest.Client).RemoveModuleMembers(ctx, uuid, r)
		return transport.IgnoreNotFound(err)
	})
}
