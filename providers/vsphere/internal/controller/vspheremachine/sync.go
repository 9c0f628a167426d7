// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// thumbprintAnnotation on a VSphereMachine holds the thumbprint last copied to a VSphereVM.
const thumbprintAnnotation = "faultline.io/thumbprint"

// sync copies mutable fields to the VSphereVM: the power-off mode and the thumbprint of its vCenter until it no longer exists,
// its labels and network configuration until it is in deletion. A VSphereVM that upstream created in a failure domain does not
// record that domain, but has its networks, which are kept.
func (r *Reconciler) sync(ctx context.Context, s *scope) error {
	placedBy := s.vm.Spec.Placement.FailureDomain
	var zone *placement.Zone
	if placedBy != "" {
		var err error
		if zone, err = r.readZone(ctx, placedBy); err != nil {
			return err
		}
	}
	return r.change(ctx, s, func(vm *infrav1.VSphereVM) {
		vm.Spec.PowerOffMode = s.infra.Spec.PowerOffMode
		vm.Spec.GuestSoftPowerOffTimeoutSeconds = s.infra.Spec.GuestSoftPowerOffTimeoutSeconds
		if s.infraCluster == nil || placedBy != "" && zone == nil {
			return // keep the current values
		}
		copyThumbprint(s, zone, vm)
		if s.infra.DeletionTimestamp.IsZero() && vm.DeletionTimestamp.IsZero() {
			copyLabels(s.infra, vm)
			copyNetwork(s, zone, vm)
		}
	})
}

// copyThumbprint copies a thumbprint once. A user may correct the thumbprint of the VSphereVM alone, which an outdated one
// must not overwrite.
func copyThumbprint(s *scope, zone *placement.Zone, vm *infrav1.VSphereVM) {
	var deploymentZone *infrav1.VSphereDeploymentZone
	if zone != nil {
		deploymentZone = &zone.VSphereDeploymentZone
	}
	thumbprint := placement.Thumbprint(vm.Spec.Server, s.infraCluster, deploymentZone, s.infra.Spec.Thumbprint)
	if faultlinev1.Value(vm.Annotations, thumbprintAnnotation) != thumbprint {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, thumbprintAnnotation, thumbprint)
		vm.Spec.Thumbprint = thumbprint
	}
}

// copyNetwork copies the network devices, unless their number has changed: the virtual machine keeps its own.
func copyNetwork(s *scope, zone *placement.Zone, vm *infrav1.VSphereVM) {
	wanted, err := placement.VM(s.infraCluster, s.infra, zone)
	if err != nil {
		return // the failure domain of the zone does not exist any more
	}
	if keeps := zone == nil && s.machine.Spec.FailureDomain != ""; !keeps && len(wanted.Network.Devices) == len(vm.Spec.Network.Devices) {
		vm.Spec.Network.Devices = wanted.Network.Devices
	}
}

// change writes the VSphereVM's metadata and spec if they differ.
func (r *Reconciler) change(ctx context.Context, s *scope, want func(*infrav1.VSphereVM)) error {
	before := s.vm.DeepCopy()
	want(s.vm)
	if equality.Semantic.DeepEqual(before.ObjectMeta, s.vm.ObjectMeta) && equality.Semantic.DeepEqual(before.Spec, s.vm.Spec) {
		return nil
	}
	if err := s.patch.Tolerate(r.others.Write(ctx, r.Client, before, s.vm)); err != nil {
		return fmt.Errorf("updating VSphereVM %s: %w", s.vm.Name, err)
	}
	return nil
}
