// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"strconv"
	"strings"
)

// firstWithModules is the first version of vSphere that has cluster modules.
const firstWithModules = 7

// HasModules reports whether the vCenter is new enough for cluster modules.
func (s *Session) HasModules() bool {
	major, _, _ := strings.Cut(s.Version(), ".")
	number, err := strconv.Atoi(major)
	return err == nil && number >= firstWithModules
}

// Modules returns the compute cluster of each module, as far as the account sees them: no call as long as those that are asked for
// are known.
func (s *Session) Modules(ctx context.Context, wanted ...string) (map[string]string, error) {
	return s.modules.Clusters(ctx, wanted...)
}

// ListModules is Modules with a call, whatever is known.
func (s *Session) ListModules(ctx context.Context) (map[string]string, error) {
	return s.modules.List(ctx)
}

// CreateModule makes a cluster module, which has no name by which it could be found again.
func (s *Session) CreateModule(ctx context.Context, clusterRef string) (uuid string, err error) {
	return s.modules.Create(ctx, clusterRef)
}

// DeleteModule deletes a cluster module, if it is there. Its virtual machines stay where they are.
func (s *Session) DeleteModule(ctx context.Context, uuid string) error {
	return s.modules.Delete(ctx, uuid)
}

// ModuleMembers returns the virtual machines of a module. ErrNotFound means that vCenter does not have the module.
func (s *Session) ModuleMembers(ctx context.Context, uuid string) (members []string, err error) {
	return s.modules.Members(ctx, uuid)
}

// JoinModule puts a virtual machine into a module of its compute cluster: one call, and another if it was in already.
func (s *Session) JoinModule(ctx context.Context, uuid, vmRef string) error {
	return s.modules.Join(ctx, uuid, vmRef)
}

// LeaveModule takes a virtual machine out of a module, if it is in.
func (s *Session) LeaveModule(ctx context.Context, uuid, vmRef string) error {
	return s.modules.Leave(ctx, uuid, vmRef)
}
