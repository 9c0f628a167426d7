// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ViewManager creates views in place of vcsim's manager, which traverses children without a lock while they are being changed.
type ViewManager struct{ *simulator.ViewManager }

// CreateContainerView creates a view for the session.
func (v *ViewManager) CreateContainerView(ctx *simulator.Context, req *types.CreateContainerView) soap.HasFault {
	defer backendOf(ctx).LockStructure()()
	return v.ViewManager.CreateContainerView(ctx, req)
}
