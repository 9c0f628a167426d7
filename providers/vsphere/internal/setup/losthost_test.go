// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

func controlPlane(m *infrav1.VSphereMachine) { m.Labels[clusterv1.MachineControlPlaneLabel] = "" }

// A control plane gets no replacement while one of its machines is being deleted, so the machine does not wait for its host.
func TestControlPlaneMachineOnLostHostIsReleased(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine, worker := w.worker("plane", controlPlane), w.worker("worker")
	w.waitForProvisioned(machine)
	w.waitForProvisioned(worker)
	w.Expect(w.vc.DisconnectHosts("zone-a")).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), worker)).To(Succeed())
	w.remove(machine)

	// What remains of each is a VSphereVM that reports what it waits for.
	for _, name := range []string{"plane", "worker"} {
		vm := w.vsphereVM(name)
		message := w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForHostReason)
		w.Expect(message).To(And(ContainSubstring("zone-a-host-"), ContainSubstring("destroyed once the host is connected again")))
	}
	// Before vCenter reports the host as disconnected, powering off may have been tried.
	w.Eventually(func() string {
		return w.waitForCondition(worker, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineDeletingReason)
	}).Should(ContainSubstring("is not responding"), "a worker may still be running")
	w.Expect(w.vms()).To(And(HaveKey("plane"), HaveKey("worker")))

	w.Expect(w.vc.ReconnectHosts("zone-a")).To(Succeed())
	w.waitForDeletion(worker)
	w.waitForDeletion(&infrav1.VSphereVM{ObjectMeta: w.meta("plane")})
	w.Expect(w.vms()).To(BeEmpty())
}

// The cluster's account is needed until the last virtual machine is deleted.
func TestClusterDeletionWaitsForMachineOnLostHost(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("plane", controlPlane)
	w.waitForProvisioned(machine)
	w.Expect(w.vc.DisconnectHosts("zone-a")).To(Succeed())
	w.remove(machine)
	cluster := &infrav1.VSphereCluster{ObjectMeta: w.meta("one")}
	w.Expect(w.client.Delete(t.Context(), cluster)).To(Succeed())
	message := w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsDeletingReason)
	w.Expect(message).To(ContainSubstring("VSphereVM plane"))
	w.Expect(w.vc.ReconnectHosts("zone-a")).To(Succeed())
	w.waitForDeletion(cluster)
	w.Expect(w.vms()).To(BeEmpty())
}

// A machine that lost power with its host is powered on when the host returns, and nothing is tried before.
func TestMachineOnLostHostIsPoweredOnAgain(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.vc.HoldTasks("PowerOnVM_Task")
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	w.waitForCondition(w.vsphereVM("node"), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachinePoweringOnReason)
	w.Expect(w.vc.DisconnectHosts("zone-a")).To(Succeed())
	w.vc.ReleaseTasks("PowerOnVM_Task")
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForHostReason)
	w.Expect(message).To(ContainSubstring("powered on once this is fixed"))
	calls := w.vc.Calls()["PowerOnVM_Task"]
	w.Consistently(func() int { return w.vc.Calls()["PowerOnVM_Task"] }, quietPeriod).Should(Equal(calls))

	w.Expect(w.vc.ReconnectHosts("zone-a")).To(Succeed())
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineProvisionedReason)
	w.Expect(w.vms()["node"].Power).To(Equal("poweredOn"))
}
