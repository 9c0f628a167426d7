// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// waitForDeletionMessage waits until the condition of a VSphereVM in deletion contains text.
func (w *fixture) waitForDeletionMessage(vm *infrav1.VSphereVM, text string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(vm.DeletionTimestamp).NotTo(BeNil())
		g.Expect(integration.Describe(vm)).To(ContainSubstring(text))
	}).Should(Succeed())
}

// The end of a power-off does not prove that the machine still exists.
func TestInvisibleMachineDuringPowerOffIsNotDeleted(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.vc.HoldTasks("PowerOffVM_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	vm := w.waitForTask("node", "PowerOffVM_Task")
	w.Expect(w.vc.HideVM("node")).To(Succeed())
	w.vc.ReleaseTasks("PowerOffVM_Task")
	w.waitForDeletionMessage(vm, "does not show it in any folder")
	w.Expect(w.vms()).To(HaveKey("node"))
	w.Expect(w.vc.ShowVM("node")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestInvisibleMachineAfterFailedDestroyIsNotDeleted(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.vc.FailTasks("Destroy_Task", 1, "a file is locked")
	w.vc.HoldTasks("Destroy_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	vm := w.waitForTask("node", "Destroy_Task")
	w.Eventually(func() infrav1.TaskOperation { // the call comes a moment before its record replaces that of the power-off
		w.get(vm)
		return vm.Status.TaskOperation
	}).Should(Equal(infrav1.DestroyOperation))
	w.Expect(w.vc.HideVM("node")).To(Succeed())
	w.vc.ReleaseTasks("Destroy_Task")
	w.waitForDeletionMessage(vm, "does not show it in any folder")
	w.Expect(w.vms()).To(HaveKey("node"))
	w.Expect(w.vc.ShowVM("node")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestMachineDeletedDuringPowerOffIsReleased(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.vc.HoldTasks("PowerOffVM_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForTask("node", "PowerOffVM_Task")
	w.Expect(w.vc.DestroyVM("node")).To(Succeed())
	w.vc.ReleaseTasks("PowerOffVM_Task")
	w.waitForDeletion(machine)
}

// Deleting a VSphereVM deletes its virtual machine, and the bootstrap data was consumed.
func TestMachineWithoutVSphereVMIsNotRecreated(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	vm := w.vsphereVM("node")
	provider := machine.Spec.ProviderID
	w.Expect(w.client.Delete(t.Context(), vm)).To(Succeed())
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineRemovedReason)
	w.Expect(message).To(ContainSubstring("delete Machine node"))
	w.waitForDeletion(vm)
	update(w, machine, func(m *infrav1.VSphereMachine) { m.Labels["test"] = "reconcile" })
	w.Consistently(w.vms, quietPeriod).Should(BeEmpty())
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(1))
	w.get(machine)
	w.Expect(machine.Spec.ProviderID).To(Equal(provider))
	w.Expect(ptr.Deref(machine.Status.Initialization.Provisioned, false)).To(BeTrue())
	w.remove(machine)
}

// This happens when a backup of the management cluster is restored in parts.
func TestMachineRecoversWhenVSphereVMIsRestored(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	vm := w.moveAway("node")
	w.start()
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineRemovedReason)
	w.create(vm)
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineProvisionedReason)
	w.Expect(w.vms()).To(HaveLen(1))
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(1))
}

// A clone may be invisible to the account, whose role may not include the folder.
func TestInvisibleCloneIsNotRepeated(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.HideClones(true)
	machine := w.worker("node")
	message := w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineNotVisibleReason)
	made := w.vms()["node"]
	w.Expect(message).To(And(ContainSubstring(made.Ref), ContainSubstring("read permission")))
	w.vc.ForgetTasks()
	w.triggerVMReconcile(w.vsphereVM("node"))
	w.Consistently(func() int { return w.vc.Calls()["CloneVM_Task"] }, "2s").Should(Equal(1))
	w.Expect(w.vc.ShowVM("node")).To(Succeed())
	w.waitForProvisioned(machine)
	w.Expect(w.vms()).To(HaveLen(1))
}

func TestDeletionWaitsForInvisibleClone(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.HideClones(true)
	w.vc.HoldTasks("CloneVM_Task")
	machine := w.worker("node")
	vm := w.waitForTask("node", "CloneVM_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForDeletionMessage(vm, "Waiting for task")
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForDeletionMessage(vm, "does not show it in any folder")
	w.vc.ForgetTasks()
	w.triggerVMReconcile(vm)
	w.Consistently(w.vms, quietPeriod).Should(HaveKey("node"))
	w.Expect(w.vc.ShowVM("node")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// A clone that another client removes before it ever ran has consumed nothing.
func TestRemovedCloneIsRepeated(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.HoldTasks("PowerOnVM_Task")
	machine := w.worker("node")
	w.waitForTask("node", "PowerOnVM_Task")
	w.Expect(w.vc.DestroyVM("node")).To(Succeed())
	w.vc.ReleaseTasks("PowerOnVM_Task")
	w.waitForProvisioned(machine)
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(2))
}

func TestMachineInVAppIsReportedNotVisible(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.HideVM("node")).To(Succeed())
	message := w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineNotVisibleReason)
	w.Expect(message).To(ContainSubstring("move it out of its vApp"))
	w.Expect(w.vsphereVM("node").Status.Ready).To(HaveValue(BeTrue()), "it runs as it did")
	w.Expect(w.vc.ShowVM("node")).To(Succeed())
	w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
}

// vCenter shows a new machine before it has its UUIDs.
func TestDeletionOfLostCloneWaitsForUUIDs(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.WithholdUUIDs(true)
	w.vc.HoldTasks("CloneVM_Task")
	machine := w.worker("node")
	vm := w.waitForTask("node", "CloneVM_Task")
	w.stop()
	w.forgetTask(vm)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.deleteWithoutManager(vm)
	w.start()
	w.waitForDeletionMessage(vm, "Waiting for running clones of the template")
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForDeletionMessage(vm, "Waiting for the UUIDs of /dc-1/vm/workload/node")
	w.Consistently(w.vms, quietPeriod).Should(HaveKey("node"))
	w.Expect(w.vc.RevealUUIDs("node")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestCloneWithoutUUIDsIsWaitedFor(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.WithholdUUIDs(true)
	machine := w.worker("node")
	vm := w.vsphereVM("node")
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(integration.Describe(vm)).To(ContainSubstring("without UUIDs"))
	}).Should(Succeed())
	w.Expect(w.countOperations()).To(HaveLen(1), "it was cloned, and that is all")
	w.Expect(w.vc.RevealUUIDs("node")).To(Succeed())
	w.waitForProvisioned(machine)
	w.Expect(w.vms()).To(HaveLen(1))
}

// Pipelines replace a template with the same name while it is being cloned.
func TestDeletionWaitsForLostCloneOfReplacedTemplate(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.HoldTasks("CloneVM_Task")
	machine := w.worker("node")
	vm := w.waitForTask("node", "CloneVM_Task")
	w.stop()
	w.forgetTask(vm)
	template := w.vc.Templates()[0]
	w.Expect(w.vc.Rename(template.Folder+"/"+template.Name, "yesterday")).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.deleteWithoutManager(vm)
	w.start()
	w.waitForDeletionMessage(vm, "Waiting for running clones of the template")
	w.vc.ReleaseTasks("CloneVM_Task")
	w.waitForDeletion(machine)
	w.Eventually(w.vms).Should(BeEmpty())
}

// After a rejected clone there is nothing to wait for, even if other clients clone the template.
func TestDeletionAfterRejectedCloneDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t, simulator.Template{Name: diskTemplate, DiskGiB: 30})
	of := func(m *infrav1.VSphereMachine) { m.Spec.Template, m.Spec.CloneMode = diskTemplate, infrav1.FullClone }
	w.vc.HoldTasks("CloneVM_Task")
	w.worker("other", of)
	w.waitForTask("other", "CloneVM_Task")
	refused := w.worker("refused", of, func(m *infrav1.VSphereMachine) { m.Spec.DiskGiB = 10 })
	w.waitForCondition(w.vsphereVM("refused"), provisionedCondition, infrav1.VSphereVMVirtualMachineInvalidSpecReason)
	w.remove(refused)
}
