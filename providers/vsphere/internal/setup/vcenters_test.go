// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// vcsim reads its whole inventory again for each change that it reports, and deadlocks when a list of tasks changes while it is
// being reported.
func TestMachinesWithSlowVCenterUpdates(t *testing.T) {
	t.Parallel()
	// Three tasks per machine, each awaited by five calls at most. vCenter chooses how many tasks share a response, so there
	// may be as many responses as tasks. The rest is what a machine itself needs.
	const count, callsEach = 30, 20
	w := newFixture(t, simulator.ThreeZones(), simulator.WithStockCollector())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.vc.ResetCalls()
	var machines []*infrav1.VSphereMachine
	for i := range count {
		machines = append(machines, w.machine("one", fmt.Sprintf("cp-%02d", i), zones[i%3].Name))
	}
	for _, machine := range machines {
		w.waitForProvisioned(machine)
	}
	calls, total := w.vc.Calls(), 0
	for _, n := range calls {
		total += n
	}
	w.Expect(total).To(BeNumerically("<=", count*callsEach), "%v", calls)
	w.Expect(calls["CloneVM_Task"]).To(Equal(count), "nothing is cloned twice")
	w.Expect(w.vms()).To(HaveLen(count))
	for _, machine := range machines {
		w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	}
	for _, machine := range machines {
		w.waitForDeletion(machine)
	}
	w.Expect(w.vms()).To(BeEmpty())
}

// Without reports of recent tasks, a lost clone can be found only in the task history.
func TestDeleteBeforeCloneIsRecordedWithoutTaskUpdates(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones(), simulator.WithSilentRecentTasks())
	w.cluster("one")
	zone := w.threeZones()[0]
	w.vc.HoldTasks("CloneVM_Task")
	machine := w.machine("one", "cp-a", zone.Name)
	vm := w.waitForTask("cp-a", "CloneVM_Task")
	w.stop()
	w.forgetTask(vm)
	w.Expect(w.client.Delete(w.t.Context(), machine)).To(Succeed())
	w.deleteWithoutManager(vm)
	w.start()
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(integration.Describe(vm)).To(ContainSubstring("Waiting for running clones of the template"))
	}).Should(Succeed())
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}
