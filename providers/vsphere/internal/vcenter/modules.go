// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"strconv"
	"strings"
)

// firstWithModules is the first major version of vSphere with cluster modules.
const firstWithModules = 7

// HasModules reports whether the vCenter supports cluster modules.
func (s *Session) HasModules() bool {
	major, _, _ := strings.Cut(s.Version(), ".")
	number, err := strconv.Atoi(major)
	return err == nil && number >= firstWithModules
}

// Modules returns the compute cluster of each module that the account can see. It makes no call if all wanted modules are
// cached.
func (s *Session) Modules(ctx context.Context, wanted ...string) (map[string]string, error) {
	return s.modules.Clusters(ctx, wanted...)
}

// ListModules is Modules without the cache.
func (s *Session) ListModules(ctx context.Context) (map[string]string, error) {
	return s.modules.List(ctx)
}

// CreateModule creates a cluster module. Modules have no names, so it cannot be found again by name.
func (s *Session) CreateModule(ctx context.Context, clusterRef string) (uuid string, err error) {
	return s.modules.Create(ctx, clusterRef)
}

// DeleteModule deletes a cluster module, if it exists. Its virtual machines stay where they are.
func (s *Session) DeleteModule(ctx context.Context, uuid string) error {
	return s.modules.Delete(ctx, uuid)
}

// ModuleMembers returns the virtual machines of a module. ErrNotFound means that vCenter does not have the module.
func (s *Session) ModuleMembers(ctx context.Context, uuid string) (members []string, err error) {
	return s.modules.Members(ctx, uuid)
}

// JoinModule adds a virtual machine to a module of its compute cluster. It makes one call, and a second one if the machine was
// a member already.
func (s *Session) JoinModule(ctx context.Context, uuid, vmRef string) error {
	return s.modules.Join(ctx, uuid, vmRef)
}

// LeaveModule removes a virtual machine from a module, if it is a member.
func (s *Session) LeaveModule(ctx context.Context, uuid, vmRef string) error {
	return s.modules.Leave(ctx, uuid, vmRef)
}
