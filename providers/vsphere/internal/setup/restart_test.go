// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// newFixtureWithBlockedClone returns a fixture in which the clone of machine "cp-a" is running and blocked.
func newFixtureWithBlockedClone(t *testing.T) (*fixture, *infrav1.VSphereMachine, *infrav1.VSphereVM) {
	t.Helper()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	w.vc.HoldTasks("CloneVM_Task")
	machine := w.machine("one", "cp-a", zone.Name)
	return w, machine, w.waitForTask("cp-a", "CloneVM_Task")
}

func TestRestartInTheMiddleOfAClone(t *testing.T) {
	t.Parallel()
	w, machine, _ := newFixtureWithBlockedClone(t)
	w.stop()
	w.vc.ReleaseTasks("CloneVM_Task")
	w.start()
	w.waitForProvisioned(machine)
	w.Expect(w.vms()).To(HaveLen(1))
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(1), "the clone of before the restart is found again")
}

// A manager that dies between the call and its record clones again, which vCenter rejects because of the name.
func TestRestartBeforeACloneIsRecorded(t *testing.T) {
	t.Parallel()
	w, machine, vm := newFixtureWithBlockedClone(t)
	w.stop()
	w.forgetTask(vm)
	w.start()
	w.Eventually(func() int { return w.vc.Calls()["CloneVM_Task"] }).Should(BeNumerically(">", 1))
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForProvisioned(machine)
	w.Expect(w.vms()).To(HaveLen(1))
}

// A deletion must not release a virtual machine that a lost clone is still creating.
func TestDeleteBeforeACloneIsRecorded(t *testing.T) {
	t.Parallel()
	w, machine, vm := newFixtureWithBlockedClone(t)
	w.stop()
	w.forgetTask(vm)
	w.Expect(w.client.Delete(w.t.Context(), machine)).To(Succeed())
	w.start()
	w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineDeletingReason)
	w.Eventually(func(g Gomega) {
		w.get(vm)
		// For the clone from before the restart, or for a second one that vCenter will reject.
		g.Expect(integration.Describe(vm)).To(ContainSubstring("Waiting for"))
	}).Should(Succeed())
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// A manager that dies between the call that destroys a virtual machine and its record has only a record of the clone, which has
// succeeded and left nothing.
func TestRestartBeforeADestroyIsRecorded(t *testing.T) {
	t.Parallel()
	w, machine, _ := newFixtureWithBlockedClone(t)
	w.Expect(w.client.Delete(w.t.Context(), machine)).To(Succeed())
	w.stop()
	w.vc.ReleaseTasks("CloneVM_Task")
	w.Eventually(w.vms).Should(HaveLen(1))
	w.Expect(w.vc.DestroyVM("cp-a")).To(Succeed())
	w.start()
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestRestartInTheMiddleOfAPowerOn(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	w.vc.HoldTasks("PowerOnVM_Task")
	machine := w.machine("one", "cp-a", zone.Name)
	w.waitForTask("cp-a", "PowerOnVM_Task")
	w.stop()
	w.vc.ReleaseTasks("PowerOnVM_Task")
	w.start()
	w.waitForProvisioned(machine)
	w.Expect(w.vc.Calls()["PowerOnVM_Task"]).To(Equal(1))
}

func TestRestartInTheMiddleOfADelete(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	machine := w.machine("one", "cp-a", zone.Name)
	w.waitForProvisioned(machine)
	w.vc.HoldTasks("Destroy_Task")
	w.Expect(w.client.Delete(w.t.Context(), machine)).To(Succeed())
	w.waitForTask("cp-a", "Destroy_Task")
	w.stop()
	w.vc.ReleaseTasks("Destroy_Task")
	w.start()
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
	w.Expect(w.vc.Calls()["Destroy_Task"]).To(Equal(1))
}

func TestFailedTasksAreRetried(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"CloneVM_Task", "ReconfigVM_Task", "PowerOnVM_Task"} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, simulator.ThreeZones())
			w.cluster("one")
			zone := w.threeZones()[0]
			w.vc.FailTasks(method, 2, "datastore is full")
			w.waitForProvisioned(w.machine("one", "cp-a", zone.Name))
			w.Expect(w.vc.Calls()[method]).To(Equal(3))
			w.Expect(w.vms()).To(HaveLen(1))
		})
	}
}

func TestFiftyMachinesAtOnce(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zones := w.threeZones()
	var machines []*infrav1.VSphereMachine
	for i := range 50 {
		machines = append(machines, w.machine("one", fmt.Sprintf("cp-%02d", i), zones[i%3].Name))
	}
	for _, machine := range machines {
		w.waitForProvisioned(machine)
	}
	w.Expect(w.vms()).To(HaveLen(50))
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(50), "nothing is cloned twice")
	w.Expect(w.vc.Calls()["PowerOnVM_Task"]).To(Equal(50))
	for _, machine := range machines {
		w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	}
	for _, machine := range machines {
		w.waitForDeletion(machine)
	}
	w.Expect(w.vms()).To(BeEmpty())
}

func TestIdleMachinesMakeNoCalls(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name) // all of them have been checked
	for _, name := range []string{"cp-a", "cp-b", "cp-c"} {
		w.waitForProvisioned(w.machine("one", name, zones[0].Name))
	}
	calls := func() map[string]int {
		calls := w.vc.Calls()
		delete(calls, "WaitForUpdatesEx") // from the stream, one in many minutes
		return calls
	}
	w.Eventually(func() map[string]int {
		since := calls()
		w.vc.ResetCalls()
		return since
	}).WithPolling(3*time.Second).Should(BeEmpty(), "all calls for new machines are done")
	for round := range 2 {
		for _, name := range []string{"cp-a", "cp-b", "cp-c"} {
			vm := &infrav1.VSphereVM{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}}
			update(w, vm, func(vm *infrav1.VSphereVM) {
				metav1.SetMetaDataAnnotation(&vm.ObjectMeta, "test/reconcile", fmt.Sprint(round))
			})
		}
	}
	w.Consistently(calls, "3s", "100ms").Should(BeEmpty())
}
