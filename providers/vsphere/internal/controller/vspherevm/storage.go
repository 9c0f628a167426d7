// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
)

// storage looks up the storage policies of a machine, and returns its placement: if the machine names a policy but no
// datastore, it chooses a compatible datastore.
func storage(ctx context.Context, s *scope) (vcenter.Placement, vcenter.Policies, error) {
	spec, placement := s.vm.Spec, virtualmachine.PlacementOf(s.vm)
	var policies vcenter.Policies
	if spec.StoragePolicyName != "" {
		id, datastore, err := s.session.DatastoreOf(ctx, placement, vcenter.Kept{
			Policy: spec.StoragePolicyName, Machine: string(s.vm.UID), SizeGiB: virtualmachine.SizeGiB(spec.VirtualMachineCloneSpec),
		})
		if err != nil {
			return placement, policies, err
		}
		placement.Datastore, policies.Home, policies.Disks = datastore, id, id
	}
	if spec.CryptoProfile != "" {
		id, err := s.session.Policy(ctx, vcenter.FieldCryptoProfile, spec.CryptoProfile)
		if err != nil {
			return placement, policies, err
		}
		policies.Home, policies.Encrypting = id, spec.CryptoProfile
	}
	return placement, policies, nil
}
