// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/vmware/govmomi/vapi/cluster"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/restapi"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// firstWithModules is the first version of vSphere that has cluster modules.
const firstWithModules = 7

// HasModules reports whether the vCenter is new enough for cluster modules.
func (s *Session) HasModules() bool {
	major, _, _ := strings.Cut(s.Version(), ".")
	number, err := strconv.Atoi(major)
	return err == nil && number >= firstWithModules
}

// modules remembers in which compute cluster each module is, which never changes. Its zero value is ready to use.
type modules struct {
	mu    sync.Mutex
	known map[string]string
}

// Modules returns the compute cluster of each module, as far as the account sees them: no call as long as those that are asked for
// are known.
func (s *Session) Modules(ctx context.Context, wanted ...string) (map[string]string, error) {
	known := s.modules.all()
	if !slices.ContainsFunc(wanted, func(uuid string) bool { return known[uuid] == "" }) {
		return known, nil
	}
	return s.ListModules(ctx)
}

// ListModules is Modules with a call, whatever is known.
func (s *Session) ListModules(ctx context.Context) (map[string]string, error) {
	var listed []cluster.ModuleSummary
	err := s.rest.Run(ctx, "listing cluster modules", func(ctx context.Context) (err error) {
		listed, err = cluster.NewManager(s.rest.Client).ListModules(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.modules.mu.Lock()
	s.modules.known = map[string]string{}
	for _, module := range listed {
		s.modules.known[module.Module] = inventory.Ref{Type: "ClusterComputeResource", Value: module.Cluster}.String()
	}
	s.modules.mu.Unlock()
	return s.modules.all(), nil
}

func (m *modules) all() map[string]string {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := map[string]string{}
	maps.Copy(known, m.known)
	return known
}

func (m *modules) set(uuid, compute string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.known == nil {
		m.known = map[string]string{}
	}
	if m.known[uuid] = compute; compute == "" {
		delete(m.known, uuid)
	}
}

// CreateModule makes a cluster module, which has no name by which it could be found again.
func (s *Session) CreateModule(ctx context.Context, clusterRef string) (uuid string, err error) {
	r := inventory.ParseRef("ClusterComputeResource", clusterRef)
	err = s.rest.Run(ctx, "making a cluster module in "+r.Value, func(ctx context.Context) (err error) {
		uuid, err = cluster.NewManager(s.rest.Client).CreateModule(ctx, r)
		return err
	})
	if err == nil {
		s.modules.set(uuid, r.String())
	}
	return uuid, err
}

// DeleteModule deletes a cluster module, if it is there. Its virtual machines stay where they are.
func (s *Session) DeleteModule(ctx context.Context, uuid string) error {
	err := s.rest.Run(ctx, "deleting cluster module "+uuid, func(ctx context.Context) error {
		return restapi.IgnoreGone(cluster.NewManager(s.rest.Client).DeleteModule(ctx, uuid))
	})
	if err == nil {
		s.modules.set(uuid, "")
	}
	return err
}

// ModuleMembers returns the virtual machines of a module. ErrNotFound means that vCenter does not have the module.
func (s *Session) ModuleMembers(ctx context.Context, uuid string) (members []string, err error) {
	err = s.rest.Run(ctx, "looking for cluster module "+uuid, func(ctx context.Context) error {
		refs, err := cluster.NewManager(s.rest.Client).ListModuleMembers(ctx, uuid)
		for _, r := range refs {
			members = append(members, r.String())
		}
		return err
	})
	return members, err
}

// JoinModule puts a virtual machine into a module of its compute cluster: one call, and another if it was in already.
func (s *Session) JoinModule(ctx context.Context, uuid, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	var joined bool
	err := s.rest.Run(ctx, "adding "+r.Value+" to cluster module "+uuid, func(ctx context.Context) (err error) {
		joined, err = cluster.NewManager(s.rest.Client).AddModuleMembers(ctx, uuid, r)
		return err
	})
	if errors.Is(err, vcerrors.ErrNotFound) {
		s.modules.set(uuid, "")
	}
	if err != nil || joined {
		return err
	}
	members, err := s.ModuleMembers(ctx, uuid)
	if err == nil && !slices.Contains(members, r.String()) {
		err = fmt.Errorf("%w: vCenter does not take %s into cluster module %s, which may be in another compute cluster", vcerrors.ErrInvalid, r.Value, uuid)
	}
	return err
}

// LeaveModule takes a virtual machine out of a module, if it is in.
func (s *Session) LeaveModule(ctx context.Context, uuid, vmRef string) error {
	r := inventory.ParseRef("VirtualMachine", vmRef)
	return s.rest.Run(ctx, "taking "+r.Value+" out of cluster module "+uuid, func(ctx context.Context) error {
		_, err := cluster.NewManager(s.rest.Client).RemoveModuleMembers(ctx, uuid, r)
		return restapi.IgnoreGone(err)
	})
}
