// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// impatient returns a world in which the delay after a failure exceeds the test's timeout.
func impatient(t *testing.T, templates ...simulator.Template) *world {
	t.Helper()
	w := workshop(t, templates...)
	w.stop()
	w.pause = time.Hour
	w.start()
	return w
}

// An administrator or vSphere HA was faster: the task's operation is already done, and its failure does not count.
func TestMachineThatSomebodyElseHasPoweredOffIsDeletedWithoutAPause(t *testing.T) {
	t.Parallel()
	w := impatient(t)
	machine := w.worker("node")
	w.provisioned(machine)
	w.vc.HoldTasks("PowerOffVM_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.inFlight("node", "PowerOffVM_Task")
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	w.vc.ReleaseTasks("PowerOffVM_Task")
	w.gone(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestMachineThatSomebodyElseHasPoweredOnIsProvisionedWithoutAPause(t *testing.T) {
	t.Parallel()
	w := impatient(t)
	w.vc.HoldTasks("PowerOnVM_Task")
	machine := w.worker("node")
	w.inFlight("node", "PowerOnVM_Task")
	_, err := w.vc.PowerOnFolder("/dc-1/vm/workload")
	w.Expect(err).NotTo(HaveOccurred())
	w.vc.ReleaseTasks("PowerOnVM_Task")
	w.provisioned(machine)
}

func TestMachineWhoseHardwareSomebodyElseHasUpgradedIsProvisionedWithoutAPause(t *testing.T) {
	t.Parallel()
	w := impatient(t, simulator.Template{Name: oldTemplate, HardwareVersion: "vmx-10"})
	w.vc.FailTasksWith("UpgradeVM_Task", 1, &types.AlreadyUpgraded{})
	w.provisioned(w.worker("node", hardware("vmx-13")))
}

// A NotFound error of a task may refer to an object other than the machine.
func TestMachineIsNotTakenForDestroyedBecauseSomethingWasNotFound(t *testing.T) {
	t.Parallel()
	w := workshop(t)
	machine := w.worker("node")
	w.provisioned(machine)
	w.vc.FailTasksWith("Destroy_Task", 1, &types.ManagedObjectNotFound{Obj: types.ManagedObjectReference{Type: "Datastore", Value: "datastore-0"}})
	w.vc.HoldTasks("Destroy_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.inFlight("node", "Destroy_Task")
	w.vc.ReleaseTasks("Destroy_Task")
	w.condition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineDeletingReason)
	w.gone(machine)
	w.Expect(w.vms()).To(BeEmpty(), "it was destroyed by a second task")
}
