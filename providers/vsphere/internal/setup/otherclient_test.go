// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// newFixtureWithLongDelay returns a fixture in which the delay after a failure exceeds the test's timeout.
func newFixtureWithLongDelay(t *testing.T, templates ...simulator.Template) *fixture {
	t.Helper()
	w := newFixtureWithTemplates(t, templates...)
	w.stop()
	w.pause = time.Hour
	w.start()
	return w
}

// An administrator or vSphere HA was faster: the task's operation is already done, and its failure does not count.
func TestPoweredOffByOtherClientIsDeletedWithoutDelay(t *testing.T) {
	t.Parallel()
	w := newFixtureWithLongDelay(t)
	machine := w.worker("node")
	w.waitForProvisioned(machine)
	w.vc.HoldTasks("PowerOffVM_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForTask("node", "PowerOffVM_Task")
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	w.vc.ReleaseTasks("PowerOffVM_Task")
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestPoweredOnByOtherClientIsProvisionedWithoutDelay(t *testing.T) {
	t.Parallel()
	w := newFixtureWithLongDelay(t)
	w.vc.HoldTasks("PowerOnVM_Task")
	machine := w.worker("node")
	w.waitForTask("node", "PowerOnVM_Task")
	_, err := w.vc.PowerOnFolder("/dc-1/vm/workload")
	w.Expect(err).NotTo(HaveOccurred())
	w.vc.ReleaseTasks("PowerOnVM_Task")
	w.waitForProvisioned(machine)
}

func TestUpgradedByOtherClientIsProvisionedWithoutDelay(t *testing.T) {
	t.Parallel()
	w := newFixtureWithLongDelay(t, simulator.Template{Name: oldTemplate, HardwareVersion: "vmx-10"})
	w.vc.FailTasksWith("UpgradeVM_Task", 1, &types.AlreadyUpgraded{})
	w.waitForProvisioned(w.worker("node", hardware("vmx-13")))
}

// A NotFound error of a task may refer to an object other than the machine.
func TestNotFoundOfOtherObjectIsNotDestroyed(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node")
	w.waitForProvisioned(machine)
	w.vc.FailTasksWith("Destroy_Task", 1, &types.ManagedObjectNotFound{Obj: types.ManagedObjectReference{Type: "Datastore", Value: "datastore-0"}})
	w.vc.HoldTasks("Destroy_Task")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.waitForTask("node", "Destroy_Task")
	w.vc.ReleaseTasks("Destroy_Task")
	w.waitForCondition(machine, provisionedCondition, infrav1.VSphereVMVirtualMachineDeletingReason)
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty(), "it was destroyed by a second task")
}
