// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcsim

import (
	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// ViewManager makes views in place of vcsim's manager, which walks from parent to child without a lock while others change who is whose child.
type ViewManager struct{ *simulator.ViewManager }

// CreateContainerView makes one for the session.
func (v *ViewManager) CreateContainerView(ctx *simulator.Context, req *types.CreateContainerView) soap.HasFault {
	leave := worldOf(ctx).Still()
	defer leave()
	return v.ViewManager.CreateContainerView(ctx, req)
}
