// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
)

// JoinGroup adds a virtual machine to a DRS group of its compute cluster. It reports whether the machine is a member, according
// to the last report of vCenter. If it is not, the join is queued: a VMChanged event follows when it has succeeded or failed.
// After a failure the next call returns the error, once.
//
// vCenter replaces the members of a group as a whole. Therefore each compute cluster has a single writer, which takes all
// queued joins, reads the groups, and writes them with the new members. Writers in other processes are not excluded: if a
// virtual machine drops out of a group, a VMChanged event follows, upon which the caller should join it again.
func (s *Session) JoinGroup(_ context.Context, clusterRef, group, vmRef string) (bool, error) {
	cluster, vm := inventory.ParseRef("ClusterComputeResource", clusterRef), inventory.ParseRef("VirtualMachine", vmRef)
	return s.groups.Join(cluster, inventory.Membership{Group: group, VM: vm})
}

// HasGroup reports whether the compute cluster has a VM group of that name that the account can see.
func (s *Session) HasGroup(clusterRef, group string) bool {
	return s.index.HasGroup(inventory.ParseRef("ClusterComputeResource", clusterRef), group)
}
