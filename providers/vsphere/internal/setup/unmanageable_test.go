// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// vCenter cannot destroy them, and none of these states ends by itself.
func TestUnmanageableMachineIsUnregistered(t *testing.T) {
	t.Parallel()
	for state, poweredOff := range map[types.VirtualMachineConnectionState]int{
		types.VirtualMachineConnectionStateOrphaned:     0,
		types.VirtualMachineConnectionStateInaccessible: 1,
		types.VirtualMachineConnectionStateInvalid:      1,
	} {
		t.Run(string(state), func(t *testing.T) {
			t.Parallel()
			w := newFixtureWithTemplates(t)
			machine := w.worker("node")
			w.waitForProvisioned(machine)
			w.Expect(w.vc.SetConnectionState("node", state)).To(Succeed())
			if state == types.VirtualMachineConnectionStateOrphaned { // counts as powered off
				w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineUnmanageableReason)
			}
			w.vc.ResetCalls()
			w.remove(machine)
			w.Expect(w.vms()).To(BeEmpty())
			w.Expect(w.vc.Calls()["UnregisterVM"]).To(BeNumerically(">=", 1), "once more where the inventory lags behind")
			w.Expect(w.vc.Calls()["Destroy_Task"]).To(BeZero())
			w.Expect(w.vc.Calls()["PowerOffVM_Task"]).To(Equal(poweredOff), "it may run on without its files")
		})
	}
}

// If its host is disconnected, the machine cannot even be unregistered.
func TestInaccessibleMachineOnLostHostWaits(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.DisconnectHosts("zone-a")).To(Succeed())
	w.Expect(w.vc.SetConnectionState("node", types.VirtualMachineConnectionStateInaccessible)).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	message := w.waitForCondition(w.vsphereVM("node"), provisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForHostReason)
	w.Expect(message).To(ContainSubstring("is not responding"))
	w.Expect(w.vc.ReconnectHosts("zone-a")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestFailedUnregisterIsReported(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.vc.FailTasks("PowerOffVM_Task", -1, "it does not answer")
	w.Expect(w.vc.SetConnectionState("node", types.VirtualMachineConnectionStateInaccessible)).To(Succeed())
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForDeletionMessage(w.vsphereVM("node"), "then remove it from vCenter's inventory")
	w.Expect(w.vms()).To(HaveKey("node"))
	w.vc.FailTasks("PowerOffVM_Task", 0, "")
	w.waitForDeletion(machine)
}

// A control plane gets no replacement while one of its machines is being deleted.
func TestControlPlaneMachineThatCannotBeUnregisteredIsReleased(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("plane", controlPlane)
	w.waitForProvisioned(machine)
	w.vc.FailTasks("PowerOffVM_Task", -1, "it does not answer")
	w.Expect(w.vc.SetConnectionState("plane", types.VirtualMachineConnectionStateInaccessible)).To(Succeed())
	w.remove(machine)
	w.waitForCondition(w.vsphereVM("plane"), provisionedCondition, infrav1.VSphereVMVirtualMachineUnmanageableReason)
	w.vc.FailTasks("PowerOffVM_Task", 0, "")
	w.waitForDeletion(&infrav1.VSphereVM{ObjectMeta: w.meta("plane")})
	w.Expect(w.vms()).To(BeEmpty())
}

// An orphaned machine that is powered off is not powered on, and reports why.
func TestPoweredOffOrphanedMachineIsReported(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.vc.ResetCalls()
	w.Expect(w.vc.SetConnectionState("node", types.VirtualMachineConnectionStateOrphaned)).To(Succeed())
	message := w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineUnmanageableReason)
	w.Expect(message).To(And(ContainSubstring("orphaned"), ContainSubstring("delete the Machine")))
	w.Expect(w.countOperations()).To(BeEmpty())
}
