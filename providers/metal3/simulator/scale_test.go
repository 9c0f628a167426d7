// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"

	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// Three hundred is more than one byte of an address can count. The benchmark has a thousand.
func TestScale(t *testing.T) {
	t.Parallel()
	f := newFixture(t)
	f.simulate()
	f.create(simulator.Racks(5, 60))
	f.Eventually(f.countInState(bmov1alpha1.StateAvailable), 10*time.Minute, 500*time.Millisecond).Should(Equal(300))

	hosts, data := &bmov1alpha1.BareMetalHostList{}, &bmov1alpha1.HardwareDataList{}
	f.Expect(f.client.List(t.Context(), hosts, client.InNamespace(f.namespace))).To(Succeed())
	f.Expect(f.client.List(t.Context(), data, client.InNamespace(f.namespace))).To(Succeed())
	f.Expect(data.Items).To(HaveLen(300))
	domains, addresses := map[string]int{}, map[string]bool{}
	for i := range hosts.Items {
		domains[hosts.Items[i].Labels[simulator.DomainLabel]]++
		for _, nic := range hosts.Items[i].Status.HardwareDetails.NIC {
			addresses[nic.MAC] = true
		}
		addresses[hosts.Items[i].Status.HardwareDetails.NIC[0].IP] = true
	}
	f.Expect(domains).To(Equal(map[string]int{"rack-1": 60, "rack-2": 60, "rack-3": 60, "rack-4": 60, "rack-5": 60}))
	f.Expect(addresses).To(HaveLen(900), "no two network cards have the same address")
}
