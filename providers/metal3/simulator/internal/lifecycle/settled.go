// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
)

// Settled returns the final status that the host reaches when nothing is left to do, given the resourceVersion of its BMC Secret
// and the result of an inspection.
func Settled(
	host *bmov1alpha1.BareMetalHost, secret string, inventory *bmov1alpha1.HardwareDetails,
) bmov1alpha1.BareMetalHostStatus {
	host = host.DeepCopy()
	for m := MachineOf(host); ; {
		s := Next(View{Host: host, Secret: secret, Inventory: inventory, Machine: m, Due: true, Now: metav1.Now()})
		if s.Status == nil {
			return host.Status
		}
		host.Status = *s.Status
		if s.Machine != "" {
			m = s.Machine
		}
	}
}

// MayBeTaken reports whether a host has been made available and may already be in use.
func MayBeTaken(host *bmov1alpha1.BareMetalHost) bool {
	switch host.Status.Provisioning.State {
	case bmov1alpha1.StateNone, bmov1alpha1.StateUnmanaged, bmov1alpha1.StateRegistering, bmov1alpha1.StateMatchProfile,
		bmov1alpha1.StateInspecting, bmov1alpha1.StatePreparing, bmov1alpha1.StateReady:
		return false
	}
	return true
}
