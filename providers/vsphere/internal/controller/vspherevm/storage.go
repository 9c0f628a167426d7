// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"errors"

	"k8s.io/apimachinery/pkg/api/resource"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// storage looks up the storage policies that a machine names, and places it: where it names a policy and no datastore, on
// one that the policy has.
func storage(ctx context.Context, s *scope) (vcenter.Placement, vcenter.Policies, error) {
	spec, placement := s.vm.Spec, placementOf(s.vm)
	var policies vcenter.Policies
	if spec.StoragePolicyName != "" {
		id, datastore, err := s.session.DatastoreOf(ctx, placement, vcenter.Kept{
			Policy: spec.StoragePolicyName, Machine: string(s.vm.UID), SizeGiB: sizeGiB(spec.VirtualMachineCloneSpec),
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

// sizeGiB returns how much room the disks of a machine take at most, as far as it says so.
func sizeGiB(spec infrav1.VirtualMachineCloneSpec) int64 {
	size := int64(spec.DiskGiB)
	for _, further := range spec.AdditionalDisksGiB {
		size += int64(further)
	}
	for _, disk := range spec.DataDisks {
		size += int64(disk.SizeGiB)
	}
	return size
}

// untold reports whether an error ends by something that no event tells of.
func untold(err error) bool {
	var lookup *vcenter.LookupError
	return errors.Is(err, vcenter.ErrForbidden) || errors.As(err, &lookup) && storageReason(lookup) != ""
}

// storageReason returns "" for what is none of the storage's fields.
func storageReason(lookup *vcenter.LookupError) string {
	switch lookup.Field {
	case vcenter.FieldStoragePolicy, vcenter.FieldCryptoProfile:
		if errors.Is(lookup, vcenter.ErrInvalid) {
			return infrav1.VSphereVMVirtualMachineNoCompatibleDatastoreReason
		}
		return infrav1.VSphereVMVirtualMachineStoragePolicyNotFoundReason
	case vcenter.FieldCryptoKey:
		return infrav1.VSphereVMVirtualMachineKeyNotFoundReason
	}
	return ""
}

func dataDisks(disks []infrav1.VSphereDisk) []vcenter.DataDisk {
	specs := make([]vcenter.DataDisk, len(disks))
	for i, disk := range disks {
		specs[i] = vcenter.DataDisk{Name: disk.Name, SizeGiB: disk.SizeGiB, Provisioning: vcenter.Provisioning(disk.ProvisioningMode)}
	}
	return specs
}

func processors(resources infrav1.VirtualMachineResources) vcenter.Allocation {
	const megahertz = 1_000_000
	return vcenter.Allocation{
		Reservation: roundedUp(resources.Requests.CPU, megahertz),
		Limit:       roundedUp(resources.Limits.CPU, megahertz),
		Shares:      resources.Shares.CPU,
	}
}

func memory(resources infrav1.VirtualMachineResources) vcenter.Allocation {
	const mebibyte = 1 << 20
	return vcenter.Allocation{
		Reservation: roundedUp(resources.Requests.Memory, mebibyte),
		Limit:       roundedUp(resources.Limits.Memory, mebibyte),
		Shares:      resources.Shares.Memory,
	}
}

// roundedUp returns a quantity in another unit: what is asked for is the least that will do.
func roundedUp(quantity resource.Quantity, unit int64) int64 {
	value := quantity.Value()
	whole := value / unit
	if value%unit > 0 {
		whole++
	}
	return whole
}

func encryption(spec infrav1.VSphereVMSpec) vcenter.Encryption {
	return vcenter.Encryption{
		FaultTolerance: string(spec.FtEncryptionMode), Migration: string(spec.MigrateEncryption), Key: spec.CryptoKeyID,
	}
}
