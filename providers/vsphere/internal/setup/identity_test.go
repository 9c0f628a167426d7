// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/integration"
)

// copies registers copies of a virtual machine, and returns their names.
func (w *fixture) copies(of string) []string {
	w.t.Helper()
	names := []string{of + "-copy", "a-copy-of-" + of}
	for _, name := range names {
		w.Expect(w.vc.RegisterCopy(of, name)).To(Succeed())
	}
	return names
}

// countOperations counts the operations on virtual machines since the last ResetCalls.
func (w *fixture) countOperations() map[string]int {
	calls := map[string]int{}
	for _, method := range []string{"PowerOnVM_Task", "PowerOffVM_Task", "ReconfigVM_Task", "Destroy_Task", "CloneVM_Task", "UnregisterVM", "ShutdownGuest"} {
		if n := w.vc.Calls()[method]; n > 0 {
			calls[method] = n
		}
	}
	return calls
}

// triggerVMReconcile triggers a reconcile of the VSphereVM, and waits until it has written the object's condition.
func (w *fixture) triggerVMReconcile(vm *infrav1.VSphereVM) {
	w.t.Helper()
	update(w, vm, func(vm *infrav1.VSphereVM) {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, "test/reconcile", vm.ResourceVersion)
	})
}

// moveAway removes the VSphereVM without its virtual machine, and returns the object that clusterctl move would create: same
// name and spec, another UID and no status. The manager is stopped.
func (w *fixture) moveAway(name string) *infrav1.VSphereVM {
	w.t.Helper()
	w.stop()
	vm := w.vsphereVM(name)
	return &infrav1.VSphereVM{ObjectMeta: w.takeAway(vm), Spec: vm.Spec}
}

// takeAway removes an object without what it stands for, and returns its metadata for another cluster.
func (w *fixture) takeAway(o client.Object) metav1.ObjectMeta {
	w.t.Helper()
	w.get(o)
	kept := metav1.ObjectMeta{
		Name: o.GetName(), Namespace: o.GetNamespace(), Labels: o.GetLabels(), Annotations: o.GetAnnotations(),
		OwnerReferences: o.GetOwnerReferences(), Finalizers: o.GetFinalizers(),
	}
	w.Expect(w.client.Patch(w.t.Context(), o, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
	w.Expect(w.client.Delete(w.t.Context(), o)).To(Succeed())
	w.waitForDeletion(o)
	return kept
}

// moveFromUpstream is moveAway followed by creating the returned object.
func (w *fixture) moveFromUpstream(name string) *infrav1.VSphereVM {
	w.t.Helper()
	vm := w.moveAway(name)
	w.create(vm)
	return vm
}

// A copy that was registered from a storage snapshot, or restored from a backup next to the original, has its BIOS UUID and its
// notes.
func TestCopyOfAMachineIsNeitherPoweredOnNorDestroyed(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	original := w.vms()["node"]
	copies := w.copies("node")
	w.triggerVMReconcile(w.vsphereVM("node"))
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed(), "an occasion to power something on")
	w.Eventually(func() string { return w.vms()["node"].Power }).Should(Equal("poweredOn"))
	w.waitForCondition(machine, provisionedCondition, infrav1.VSphereMachineVirtualMachineProvisionedReason)
	w.Expect(w.vsphereVM("node").Status.VMRef).To(HaveSuffix(original.Ref))
	w.remove(machine)
	left := w.vms()
	w.Expect(left).NotTo(HaveKey("node"))
	w.Expect(left).To(HaveLen(len(copies)))
	for _, name := range copies {
		w.Expect(left[name].Power).To(Equal("poweredOff"), name)
	}
}

func TestDeletedMachineIsNotReplacedByCopy(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	copies := w.copies("node")
	w.Expect(w.vc.DestroyVM("node")).To(Succeed())
	message := w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineNotFoundByBIOSUUIDReason)
	w.Expect(message).To(And(ContainSubstring("was deleted in vCenter outside Cluster API"), ContainSubstring(copies[0]), ContainSubstring("is not changed")))
	w.remove(machine)
	w.Expect(w.vms()).To(HaveLen(len(copies)))
}

// A restarted manager has no record of what it started.
func TestInterruptedDeletionDoesNotDeleteCopy(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.moveFromUpstream("node")
	w.start()
	w.waitForCondition(w.vsphereVM("node"), provisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	copies := w.copies("node")
	w.vc.HoldTasks("Destroy_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForTask("node", "Destroy_Task")
	w.stop()
	w.vc.ReleaseTasks("Destroy_Task")
	w.Eventually(w.vms).ShouldNot(HaveKey("node"))
	w.vc.ForgetTasks()
	w.start()
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(HaveLen(len(copies)))
}

func TestMovedMachineIsFoundByItsNotes(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	made := w.vms()["node"]
	w.Expect(w.vc.SetNotes("node", "backed up on Monday\nVSphereVM "+w.name+"/node")).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta("node")})).To(Succeed(), "its bootstrap data")
	vm := w.moveFromUpstream("node")
	w.vc.ResetCalls()
	w.start()
	w.waitForCondition(vm, provisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	w.Expect(vm.Status.VMRef).To(HaveSuffix(made.Ref))
	w.Expect(w.countOperations()).To(BeEmpty())
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// Machines of Cluster API Provider vSphere have no notes of ours, and after a move no UID either.
func TestMachineMovedFromUpstreamIsFoundByItsBootstrapData(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.SetNotes("node", "")).To(Succeed())
	vm := w.moveFromUpstream("node")
	w.start()
	w.waitForCondition(vm, provisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	w.Expect(w.vc.RegisterCopy("node", "copy")).To(Succeed(), "from now on it is recorded")
	w.triggerVMReconcile(vm)
	w.remove(machine)
	w.Expect(w.vms()).To(And(HaveLen(1), HaveKey("copy")))
}

func TestMovedMachineWithCopyIsAmbiguous(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.RegisterCopy("node", "copy")).To(Succeed())
	vm := w.moveFromUpstream("node")
	w.vc.ResetCalls()
	w.start()
	message := w.waitForCondition(vm, provisionedCondition, infrav1.VSphereVMVirtualMachineAmbiguousReason)
	w.Expect(message).To(And(ContainSubstring("/node "), ContainSubstring("/copy "), ContainSubstring("remove the copies")))
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(vm.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed())
	w.Eventually(func(g Gomega) {
		w.get(machine)
		g.Expect(integration.Describe(machine)).To(ContainSubstring("remove the copies"))
	}).Should(Succeed())
	w.Consistently(w.countOperations, quietPeriod).Should(BeEmpty())
	w.Expect(w.vc.DestroyVM("copy")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

// A user who may create VSphereVMs must not get access to machines by setting their BIOS UUIDs.
func TestForeignBIOSUUIDDoesNotIdentify(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.waitForProvisioned(w.worker("victim"))
	w.Expect(w.vc.RegisterCopy("victim", "database")).To(Succeed())
	w.Expect(w.vc.SetNotes("database", "payroll")).To(Succeed())
	w.create(w.secret("guess", "", ""))
	w.vc.ResetCalls()
	for _, name := range []string{"thief", "database"} { // with a name of its own, and with the machine's
		thief := &infrav1.VSphereVM{ObjectMeta: w.meta(name), Spec: *w.vsphereVM("victim").Spec.DeepCopy()}
		thief.Labels = w.vsphereVM("victim").Labels
		thief.Spec.BootstrapRef.Name = "guess"
		w.create(thief)
		message := w.waitForCondition(thief, provisionedCondition, infrav1.VSphereVMVirtualMachineNotIdentifiedReason)
		w.Expect(message).To(And(ContainSubstring("not changed"), ContainSubstring("VSphereVM "+w.name+"/"+name)))
		w.Expect(w.client.Delete(t.Context(), thief)).To(Succeed())
		w.waitForDeletion(thief)
	}
	w.Expect(w.countOperations()).To(BeEmpty())
	w.Expect(w.vms()).To(And(HaveKey("victim"), HaveKey("database")))
}

// A user who may write notes in vCenter can declare the owner of a machine.
func TestUnidentifiedMachineIsFoundByAddedNotes(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.SetNotes("node", "tidied up")).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta("node")})).To(Succeed())
	vm := w.moveFromUpstream("node")
	w.start()
	w.waitForCondition(vm, provisionedCondition, infrav1.VSphereVMVirtualMachineNotIdentifiedReason)
	w.Expect(w.vc.SetNotes("node", "tidied up\nVSphereVM "+w.name+"/node")).To(Succeed())
	w.waitForCondition(vm, provisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
}
