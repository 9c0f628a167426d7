// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestermachine_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// Each fault is tested separately: every object is created exactly once, and deleted without leftovers.
func TestMachineLifecycleWithFailingRequests(t *testing.T) {
	for i, fault := range []struct {
		name string
		args []string
	}{
		{"failing", nil}, {"lost-answers", nil}, {"conflicts", []string{"ippools"}},
	} {
		t.Run(fault.name, func(t *testing.T) {
			w := newFixture(t)
			pool := simulator.Pool(w.name, fmt.Sprintf("10.79.%d.0/24", i), fmt.Sprintf("10.79.%d.10", i), fmt.Sprintf("10.79.%d.20", i))
			w.Expect(w.harvester.Create(t.Context(), &pool)).To(Succeed())
			w.start()
			w.fault(fault.name, true, fault.args...)
			var machines []*infrav1.HarvesterMachine
			for n := range 8 {
				machines = append(machines, w.machine(fmt.Sprint(n), fmt.Sprintf("zone-%d", n%3+1), fromPools(pool.Name)))
			}
			addresses := map[string]string{}
			for _, infra := range machines {
				address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
				w.Expect(addresses).NotTo(HaveKey(address))
				addresses[address] = w.latest(infra).Annotations[infrav1.IPHolderAnnotation]
			}
			w.Expect(w.allocated(pool.Name)).To(Equal(addresses))
			w.Expect(w.claims()).To(HaveLen(len(machines)))
			for _, infra := range machines {
				w.delete(infra)
			}
			for _, infra := range machines {
				w.waitForDeletion(infra)
			}
			w.Expect(w.allocated(pool.Name)).To(BeEmpty())
			w.Eventually(w.claims).Should(BeEmpty())
			w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty())
		})
	}
}
