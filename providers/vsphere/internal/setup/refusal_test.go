// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/vmware/govmomi/vim25/types"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// warnings counts the warning events of an object with a reason.
func (w *fixture) warnings(name, reason string) int {
	w.t.Helper()
	list := &eventsv1.EventList{}
	w.Expect(w.client.List(w.t.Context(), list, client.InNamespace(w.name))).To(Succeed())
	count := 0
	for _, e := range list.Items {
		if e.Regarding.Kind == "VSphereVM" && e.Regarding.Name == name && e.Reason == reason {
			count++
			if e.Series != nil {
				count += int(e.Series.Count) - 1
			}
		}
	}
	return count
}

// A tag that vCenter does not attach, because of a missing privilege or the rules of its category, is reported with its fix.
func TestRejectedTagIsReported(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	first, err := w.vc.TagID("zone-a")
	w.Expect(err).NotTo(HaveOccurred())
	second, err := w.vc.TagID("zone-b")
	w.Expect(err).NotTo(HaveOccurred())

	w.vc.SetTagging(false)
	machine := w.worker("node", func(m *infrav1.VSphereMachine) { m.Spec.TagIDs = []string{first} })
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.PrivilegeMissingReason)
	w.Expect(message).To(And(ContainSubstring(first), ContainSubstring("InventoryService.Tagging.AttachTag"), ContainSubstring("InventoryService.Tagging.ObjectAttachable")))
	w.vc.SetTagging(true)
	w.waitForProvisioned(machine)
	w.Expect(w.vms()["node"].TagIDs).To(ConsistOf(first))

	both := w.worker("both", func(m *infrav1.VSphereMachine) { m.Spec.TagIDs = []string{first, second} })
	message = w.waitForCondition(both, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTagRefusedReason)
	w.Expect(message).To(And(ContainSubstring(second), ContainSubstring("VSphereMachineTemplate")))
	w.remove(both)
}

// A full datastore fails a thousand machines at once, repeatedly.
func TestPersistentFailureBacksOffAndIsReportedOnce(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.FailTasks("CloneVM_Task", -1, "datastore is full")
	machine := w.worker("node")
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTaskFailedReason)
	w.Expect(message).To(And(ContainSubstring("datastore is full"), Not(ContainSubstring("task-"))))
	vm := w.vsphereVM("node")
	seen := map[string]bool{}
	var clones []time.Time
	w.Eventually(func() int {
		w.get(vm)
		seen[integration.Describe(vm)] = true
		if calls := w.vc.Calls()["CloneVM_Task"]; calls > len(clones) {
			clones = append(clones, time.Now())
		}
		return len(clones)
	}, integration.Timeout, "20ms").Should(Equal(5))
	// The delays are at least 1, 2, 4 and 8 s, less the fraction of a second that a status does not store.
	w.Expect(clones[4].Sub(clones[0])).To(BeNumerically(">", 10*time.Second))
	w.Expect(seen).To(HaveLen(1), "the status reads the same while it is tried again: %v", seen)
	w.Expect(w.warnings("node", infrav1.VSphereVMVirtualMachineTaskFailedReason)).To(Equal(1))
}

// newFixtureWithBackoff returns a fixture with delays that exceed the test's timeout.
func newFixtureWithBackoff(t *testing.T) *fixture {
	t.Helper()
	w := newFixtureWithTemplates(t)
	w.stop()
	w.pause = time.Hour
	w.start()
	return w
}

// The delay ends early if vCenter shows that the user has changed something.
func TestHostChangeEndsBackoff(t *testing.T) {
	t.Parallel()
	w := newFixtureWithBackoff(t)
	w.vc.FailTasks("CloneVM_Task", 1, "no host will have it")
	machine := w.worker("node")
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTaskFailedReason)
	w.Expect(w.vc.SetMaintenance("zone-b", true, "zone-b-host-1")).To(Succeed())
	w.Consistently(func() int { return w.vc.Calls()["CloneVM_Task"] }, quietPeriod).Should(Equal(1), "that is another cluster's host")
	w.Expect(w.vc.SetMaintenance("zone-a", true, "zone-a-host-1")).To(Succeed())
	w.waitForProvisioned(machine)
}

func TestFreeNameEndsBackoff(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.waitForProvisioned(w.worker("taken"))
	other := w.worker("other", func(m *infrav1.VSphereMachine) { m.Spec.Naming.Template = "wanted" })
	w.waitForProvisioned(other)
	w.stop()
	w.pause = time.Hour
	w.Expect(w.vc.Rename("/dc-1/vm/workload/taken", "node")).To(Succeed())
	w.start()
	machine := w.worker("node")
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNameConflictReason)
	w.Expect(w.vc.Rename("/dc-1/vm/workload/node", "free")).To(Succeed())
	w.waitForProvisioned(machine)
}

func TestDeletionEndsBackoff(t *testing.T) {
	t.Parallel()
	for name, meanwhile := range map[string]func(*fixture){"at once": func(*fixture) {}, "after a restart": func(w *fixture) { w.stop(); w.start() }} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixtureWithBackoff(t)
			w.vc.FailTasks("PowerOnVM_Task", 1, "no host will have it")
			machine := w.worker("node")
			w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTaskFailedReason)
			meanwhile(w)
			w.remove(machine)
			w.Expect(w.vms()).To(BeEmpty())
		})
	}
}

// A running machine is observed even while another step fails.
func TestRunningMachineIsObservedDuringBackoff(t *testing.T) {
	t.Parallel()
	w := newFixtureWithBackoff(t)
	machine := w.worker("node")
	w.waitForProvisioned(machine)
	w.vc.FailTasks("ReconfigVM_Task", 1, "it is locked")
	update(w, machine, func(m *infrav1.VSphereMachine) { m.Spec.Network.Devices[0].Nameservers = []string{"10.0.0.53"} })
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTaskFailedReason)
	for _, host := range []string{"zone-a-host-1", "zone-a-host-2"} {
		w.Expect(w.vc.MoveVMToHost("node", host)).To(Succeed())
		w.Eventually(func() string { return w.vsphereVM("node").Status.Host }).Should(Equal(host))
	}
	w.Expect(w.vc.Calls()["ReconfigVM_Task"]).To(Equal(2), "it is put off")
}

// A message from vCenter about a privilege must reach the user.
func TestMissingPrivilegeIsReported(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.RefuseCalls("CloneVM_Task", 1, &types.NoPermission{
		Object: &types.ManagedObjectReference{Type: "Datastore", Value: "datastore-12"}, PrivilegeId: "Datastore.AllocateSpace",
	})
	machine := w.worker("node")
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.PrivilegeMissingReason)
	w.Expect(message).To(ContainSubstring("privilege Datastore.AllocateSpace on datastore-12 is required"))
	w.waitForProvisioned(machine)

	w.vc.FailTasksWith("CloneVM_Task", 1, &types.NoPermission{MissingPrivileges: []types.NoPermissionEntityPrivileges{{
		Entity: types.ManagedObjectReference{Type: "ResourcePool", Value: "resgroup-8"}, PrivilegeIds: []string{"Resource.AssignVMToPool"},
	}}})
	machine = w.worker("other")
	message = w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.PrivilegeMissingReason)
	w.Expect(message).To(ContainSubstring("privilege Resource.AssignVMToPool on resgroup-8 is required"))
	w.waitForProvisioned(machine)
}

// The name may belong to a folder, or to a virtual machine that the account cannot see.
func TestDuplicateNameIsAConflict(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.RefuseCalls("CloneVM_Task", 1, &types.DuplicateName{Name: "node"})
	machine := w.worker("node")
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNameConflictReason)
	w.Expect(message).To(And(ContainSubstring("folder workload"), ContainSubstring("rename or remove it")))
	w.waitForProvisioned(machine)
}

// During a backup vCenter is busy with a machine for minutes, and no event reports the end.
func TestBusyVCenterIsRetriedSoon(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.RefuseCalls("PowerOnVM_Task", 6, &types.TaskInProgress{})
	machine := w.worker("node")
	vm := w.vsphereVM("node")
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(conditions.GetMessage(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition)).To(ContainSubstring("vCenter is busy"))
	}).Should(Succeed())
	w.waitForProvisioned(machine)
	w.Expect(w.vc.Calls()["PowerOnVM_Task"]).To(Equal(7))
}

// With trySoft the guest must be shut down, not powered off because vCenter was busy for a moment.
func TestTrySoftRetriesWhenVCenterIsBusy(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", powerOff(infrav1.VirtualMachinePowerOpModeTrySoft, 3600))
	w.waitForProvisioned(machine)
	w.vc.RefuseCalls("ShutdownGuest", 2, &types.TaskInProgress{})
	w.remove(machine)
	w.Expect(w.vc.Calls()["ShutdownGuest"]).To(Equal(3))
	w.Expect(w.vc.Calls()["PowerOffVM_Task"]).To(BeZero())
}

// An administrator deletes the VM group of a zone with running machines.
func TestMachinesThatRunAreObservedWithoutTheirVMGroup(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.HostGroups())
	w.cluster("one")
	zone := w.zone("a", infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "cluster-1", Datastore: simulator.SharedDatastore,
		Hosts: infrav1.FailureDomainHosts{VMGroupName: "rack-a-vms", HostGroupName: "rack-a-hosts"},
	}, nil)
	machine := w.machine("one", "cp-a", zone.Name)
	w.waitForProvisioned(machine)
	vm := w.vsphereVM("cp-a")
	w.Expect(conditions.GetReason(vm, infrav1.VSphereVMVMGroupJoinedCondition)).To(Equal(infrav1.VSphereVMVMGroupJoinedReason))

	w.Expect(w.vc.RemoveGroup("cluster-1", "rack-a-vms")).To(Succeed())
	w.vc.ResetCalls()
	message := w.waitForCondition(vm, infrav1.VSphereVMVMGroupJoinedCondition, infrav1.VSphereVMVMGroupNotFoundReason)
	w.Expect(message).To(And(ContainSubstring("rack-a-vms"), ContainSubstring("rack-a-hosts")))
	for _, host := range []string{"host-b-1", "host-c-1"} {
		w.Expect(w.vc.MoveVMToHost("cp-a", host)).To(Succeed())
		w.Eventually(func() string { return w.vsphereVM("cp-a").Status.Host }).Should(Equal(host), "it is still followed")
	}
	w.get(machine)
	w.Expect(conditions.IsTrue(machine, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(machine))
	w.get(vm)
	w.Expect(conditions.GetReason(vm, infrav1.VSphereVMVMGroupJoinedCondition)).To(Equal(infrav1.VSphereVMVMGroupNotFoundReason))
	w.Expect(w.warnings("cp-a", infrav1.VSphereVMVMGroupNotFoundReason)).To(BeNumerically("<=", 1), "it is reported once")
	w.Expect(w.vc.Calls()["ReconfigureComputeResource_Task"]).To(BeZero())

	// It is not powered on outside of its hosts.
	w.Expect(w.vc.PowerOffVM("cp-a")).To(Succeed())
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineVMGroupNotFoundReason)
	w.Expect(w.vms()["cp-a"].Power).To(Equal("poweredOff"))
	w.Expect(ptr.Deref(machine.Status.Initialization.Provisioned, false)).To(BeTrue())
	w.Expect(w.vc.AddVMGroup("cluster-1", "rack-a-vms")).To(Succeed())
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineProvisionedReason)
	w.waitForCondition(vm, infrav1.VSphereVMVMGroupJoinedCondition, infrav1.VSphereVMVMGroupJoinedReason)
}
