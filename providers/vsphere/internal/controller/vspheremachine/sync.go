// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
)

// sync carries on to the VSphereVM what may still change after its place is decided: how it is powered off, its network
// configuration, and the thumbprint of a vCenter that has a new certificate.
func (r *Reconciler) sync(ctx context.Context, s *scope) error {
	if s.infraCluster == nil || !s.vm.DeletionTimestamp.IsZero() {
		return nil
	}
	var zone *placement.Zone
	placedBy := s.vm.Spec.Placement.FailureDomain
	if placedBy != "" {
		var err error
		if zone, err = r.readZone(ctx, placedBy); err != nil {
			return err
		}
	}
	wanted, err := placement.VM(s.infraCluster, s.vsphere, zone)
	if err != nil {
		return nil //nolint:nilerr // the zone has lost its failure domain; the machine keeps what it has
	}
	before := s.vm.DeepCopy()
	s.vm.Spec.PowerOffMode = wanted.PowerOffMode
	s.vm.Spec.GuestSoftPowerOffTimeoutSeconds = wanted.GuestSoftPowerOffTimeoutSeconds
	if placedBy == "" || zone != nil {
		s.vm.Spec.Thumbprint = wanted.Thumbprint
		if len(wanted.Network.Devices) == len(s.vm.Spec.Network.Devices) {
			s.vm.Spec.Network.Devices = wanted.Network.Devices
		}
	}
	if equality.Semantic.DeepEqual(before.Spec, s.vm.Spec) {
		return nil
	}
	if err := r.Client.Patch(ctx, s.vm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("updating VSphereVM %s: %w", s.vm.Name, err)
	}
	return nil
}
