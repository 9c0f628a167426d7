// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
)

// sync carries on to the VSphereVM what may still change after its place is decided: its labels, how it is powered off, its network
// configuration, and the thumbprint of a vCenter that has a new certificate. A VSphereVM that upstream made in a failure domain does not
// say so, and has the networks of that: it keeps them.
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
	return r.change(ctx, s, func(vm *infrav1.VSphereVM) {
		carryLabels(s.vsphere, vm)
		spec := &vm.Spec
		spec.PowerOffMode = wanted.PowerOffMode
		spec.GuestSoftPowerOffTimeoutSeconds = wanted.GuestSoftPowerOffTimeoutSeconds
		if placedBy == "" || zone != nil {
			spec.Thumbprint = wanted.Thumbprint
			if keeps := placedBy == "" && s.machine.Spec.FailureDomain != ""; !keeps && len(wanted.Network.Devices) == len(spec.Network.Devices) {
				spec.Network.Devices = wanted.Network.Devices
			}
		}
	})
}

// syncPowerOff carries on how the virtual machine is powered off, which may change until it is: a user whose guest does
// not shut down chooses another way during the deletion.
func (r *Reconciler) syncPowerOff(ctx context.Context, s *scope) error {
	return r.change(ctx, s, func(vm *infrav1.VSphereVM) {
		vm.Spec.PowerOffMode = s.vsphere.Spec.PowerOffMode
		vm.Spec.GuestSoftPowerOffTimeoutSeconds = s.vsphere.Spec.GuestSoftPowerOffTimeoutSeconds
	})
}

// change writes the VSphereVM's labels and spec if they are not as wanted.
func (r *Reconciler) change(ctx context.Context, s *scope, want func(*infrav1.VSphereVM)) error {
	before := s.vm.DeepCopy()
	want(s.vm)
	if equality.Semantic.DeepEqual(before.Labels, s.vm.Labels) && equality.Semantic.DeepEqual(before.Spec, s.vm.Spec) {
		return nil
	}
	if err := r.Client.Patch(ctx, s.vm, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("updating VSphereVM %s: %w", s.vm.Name, err)
	}
	return nil
}
