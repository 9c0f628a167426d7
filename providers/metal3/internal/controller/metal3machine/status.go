// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/status"
)

func markUnassociated(s *scope, reason, message string) {
	status.False(s.infra, infrav1.Metal3MachineAssociateBareMetalHostCondition, reason, message)
}

func markUnprovisioned(s *scope, reason, message string) {
	status.False(s.infra, infrav1.Metal3MachineHostProvisionedCondition, reason, message)
}

// summarize sets Ready. It writes metadata and spec first, because that changes the generation, and then sets observedGeneration
// of all conditions to the new one: all of them have just been evaluated. Conditions of steps that have not been reached are
// ignored; the condition of the current step accounts for them.
func (r *Reconciler) summarize(ctx context.Context, s *scope) error {
	if err := s.patch.Tolerate(s.patch.ApplySpec(ctx, r.Client, s.infra)); err != nil {
		return err
	}
	for i := range s.infra.Status.Conditions {
		s.infra.Status.Conditions[i].ObservedGeneration = s.infra.Generation
	}
	types := []string{infrav1.Metal3MachineAssociateBareMetalHostCondition}
	for _, condition := range []string{
		infrav1.Metal3MachineAssociateMetaDataCondition, infrav1.Metal3MachineDataReadyCondition, infrav1.Metal3MachineHostProvisionedCondition,
	} {
		if conditions.Has(s.infra, condition) {
			types = append(types, condition)
		}
	}
	return status.Summarize(s.infra, types...)
}

// addresses returns the addresses found by inspection of the host.
func addresses(host *bmov1alpha1.BareMetalHost) []clusterv1.MachineAddress {
	hardware := host.Status.HardwareDetails
	if hardware == nil {
		return nil
	}
	var list []clusterv1.MachineAddress
	for _, nic := range hardware.NIC {
		if nic.IP != "" {
			list = append(list, clusterv1.MachineAddress{Type: clusterv1.MachineInternalIP, Address: nic.IP})
		}
	}
	if hardware.Hostname != "" {
		list = append(list,
			clusterv1.MachineAddress{Type: clusterv1.MachineHostName, Address: hardware.Hostname},
			clusterv1.MachineAddress{Type: clusterv1.MachineInternalDNS, Address: hardware.Hostname})
	}
	return list
}
