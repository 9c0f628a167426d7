// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
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
	return s.groups.Join(cluster, inventory.Membership{Group: group, VM: vm})
}

// HasGroup reports whether the compute cluster has a group of virtual machines of that name, as far as the account sees.
func (s *Session) HasGroup(clusterRef, group string) bool {
	return s.index.HasGroup(inventory.ParseRef("ClusterComputeResource", clusterRef), group)
}
