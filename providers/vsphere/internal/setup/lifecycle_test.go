// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/shared/integration"
)

func keyOf(o client.Object) client.ObjectKey { return client.ObjectKeyFromObject(o) }

// quietPeriod is how long to wait for something that must not happen, after a sign that it could have.
const quietPeriod = "300ms"

func powerOff(mode infrav1.VirtualMachinePowerOpMode, seconds int32) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) {
		m.Spec.PowerOffMode, m.Spec.GuestSoftPowerOffTimeoutSeconds = mode, seconds
	}
}

func TestPowerOffModesOfResponsiveGuest(t *testing.T) {
	t.Parallel()
	for mode, asked := range map[infrav1.VirtualMachinePowerOpMode]int{
		"":                                       0,
		infrav1.VirtualMachinePowerOpModeHard:    0,
		infrav1.VirtualMachinePowerOpModeSoft:    1,
		infrav1.VirtualMachinePowerOpModeTrySoft: 1,
	} {
		t.Run("mode "+string(mode), func(t *testing.T) {
			t.Parallel()
			w := newFixtureWithTemplates(t)
			machine := w.worker("node", powerOff(mode, 0))
			w.waitForProvisioned(machine)
			w.remove(machine)
			w.Expect(w.vms()).To(BeEmpty())
			w.Expect(w.vc.Calls()["ShutdownGuest"]).To(Equal(asked))
			w.Expect(w.vc.Calls()["PowerOffVM_Task"]).To(Equal(1 - asked))
		})
	}
}

func TestTrySoftPowersOffUnresponsiveGuest(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", powerOff(infrav1.VirtualMachinePowerOpModeTrySoft, 1))
	w.waitForProvisioned(machine)
	w.vc.HoldTasks("ShutdownGuest")
	w.remove(machine)
	w.Expect(w.vms()).To(BeEmpty())
	w.Expect(w.vc.Calls()["ShutdownGuest"]).To(Equal(1), "it is requested once")
	w.Expect(w.vc.Calls()["PowerOffVM_Task"]).To(Equal(1))
}

func TestSoftWaitsForUnresponsiveGuest(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	machine := w.worker("node", powerOff(infrav1.VirtualMachinePowerOpModeSoft, 0))
	w.waitForProvisioned(machine)
	w.vc.HoldTasks("ShutdownGuest")
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	vm := w.vsphereVM("node")
	w.waitForCondition(vm, infrav1.VSphereVMGuestSoftPowerOffSucceededCondition, infrav1.VSphereVMGuestSoftPowerOffInProgressReason)
	w.Consistently(func() string { return w.vms()["node"].Power }, quietPeriod).Should(Equal("poweredOn"))
	w.vc.ReleaseTasks("ShutdownGuest")
	w.waitForDeletion(machine)
	w.Expect(w.vc.Calls()["PowerOffVM_Task"]).To(BeZero())
}

// A guest whose VMware Tools never started cannot be shut down.
func TestPowerOffModesOfAGuestWithoutTools(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.vc.SetGuestDelay(-1)
	try, soft := w.worker("try", powerOff(infrav1.VirtualMachinePowerOpModeTrySoft, 3600)), w.worker("soft", powerOff(infrav1.VirtualMachinePowerOpModeSoft, 0))
	for _, name := range []string{"try", "soft"} {
		w.waitForCondition(w.vsphereVM(name), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineWaitingForIPAllocationReason)
	}
	w.remove(try)
	w.Expect(w.vms()).NotTo(HaveKey("try"))

	w.Expect(w.client.Delete(t.Context(), soft)).To(Succeed())
	vm := w.vsphereVM("soft")
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(integration.Describe(vm)).To(ContainSubstring("set powerOffMode to trySoft or hard"))
	}).Should(Succeed())
	w.Expect(w.vms()["soft"].Power).To(Equal("poweredOn"))
	update(w, soft, powerOff(infrav1.VirtualMachinePowerOpModeHard, 0))
	w.waitForDeletion(soft)
}

func TestMachineDeletedInVCenterIsNotRecreated(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.DestroyVM("node")).To(Succeed())
	message := w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNotFoundByBIOSUUIDReason)
	w.Expect(message).To(ContainSubstring(machine.Spec.ProviderID[len("vsphere://"):]))
	w.Expect(w.vsphereVM("node").Status.Ready).To(HaveValue(BeFalse()))
	w.Expect(machine.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "once true it stays, by Cluster API's contract")
	w.Consistently(w.vms, quietPeriod).Should(BeEmpty())
	w.Expect(w.vc.Calls()["CloneVM_Task"]).To(Equal(1))
	w.remove(machine)
}

// The inventory shows only what the account can see.
func TestInvisibleMachineIsNotDeleted(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.HideVM("node")).To(Succeed())
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineNotVisibleReason)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	vm := w.vsphereVM("node")
	w.Eventually(func(g Gomega) {
		w.get(vm)
		g.Expect(integration.Describe(vm)).To(ContainSubstring("does not show it in any folder"))
	}).Should(Succeed())
	w.Expect(w.vms()).To(HaveKey("node"))
	w.Expect(w.vc.ShowVM("node")).To(Succeed())
	w.waitForDeletion(machine)
	w.Expect(w.vms()).To(BeEmpty())
}

func TestMachinePoweredOffInVCenterIsPoweredOn(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	w.Eventually(func() string { return w.vms()["node"].Power }).Should(Equal("poweredOn"))
	w.waitForCondition(machine, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereMachineVirtualMachineProvisionedReason)
	w.Expect(w.vc.Calls()["PowerOnVM_Task"]).To(Equal(2))
}

func TestMachineMovedToAnotherHostIsFollowed(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	w.waitForProvisioned(w.worker("node"))
	for _, host := range []string{"zone-a-host-1", "zone-a-host-2"} {
		w.Expect(w.vc.MoveVMToHost("node", host)).To(Succeed())
		w.Eventually(func(g Gomega) {
			g.Expect(w.vsphereVM("node").Status.Host).To(Equal(host))
			machine := &clusterv1.Machine{ObjectMeta: w.meta("node")}
			w.get(machine)
			g.Expect(machine.Labels).To(HaveKeyWithValue("node.cluster.x-k8s.io/esxi-host", host))
		}).Should(Succeed())
	}
}

// A guest that restarts reports no address for a while; the machine keeps the last known one.
func TestAddressesStayWhileAGuestRestarts(t *testing.T) {
	t.Parallel()
	w, machine := newFixtureWithNode(t)
	known := machine.Status.Addresses
	w.vc.SetGuestDelay(-1)
	w.vc.HoldTasks("PowerOnVM_Task")
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	vm := w.vsphereVM("node")
	w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachinePoweringOnReason)
	w.vc.ReleaseTasks("PowerOnVM_Task")
	w.waitForCondition(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineProvisionedReason)
	w.get(machine)
	w.Expect(w.vms()["node"].IPs).To(BeEmpty())
	w.Expect(machine.Status.Addresses).To(Equal(known))
}

func (w *fixture) waitForPaused(o integration.Conditioned, reason string) {
	w.t.Helper()
	w.waitForCondition(o, clusterv1.PausedCondition, reason)
}

func TestPausedClusterIsNotReconciled(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	running, infra := w.worker("running"), &infrav1.VSphereCluster{ObjectMeta: w.meta("one")}
	w.waitForProvisioned(running)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	update(w, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = ptr.To(true) })
	late := w.worker("late")
	vm := w.vsphereVM("running")
	for _, o := range []integration.Conditioned{infra, running, late, vm} {
		w.waitForPaused(o, clusterv1.PausedReason)
	}
	w.Expect(w.client.Delete(t.Context(), running)).To(Succeed())
	w.Expect(w.vc.PowerOffVM("running")).To(Succeed())
	w.Consistently(func(g Gomega) {
		g.Expect(w.vms()).To(HaveLen(1))
		g.Expect(w.vms()["running"].Power).To(Equal("poweredOff"))
	}, quietPeriod).Should(Succeed())
	w.Expect(late.Finalizers).To(BeEmpty())

	update(w, cluster, func(c *clusterv1.Cluster) { c.Spec.Paused = nil })
	w.waitForProvisioned(late)
	w.waitForDeletion(running)
	w.waitForPaused(late, clusterv1.NotPausedReason)
	w.waitForPaused(infra, clusterv1.NotPausedReason)
	w.Expect(w.vms()).To(HaveLen(1))
}

func TestPausedObjectsAreNotReconciled(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	pause := func(o metav1.Object) { o.SetAnnotations(map[string]string{clusterv1.PausedAnnotation: ""}) }
	machine := w.worker("node", func(m *infrav1.VSphereMachine) { pause(m) })
	w.waitForPaused(machine, clusterv1.PausedReason)
	w.Expect(w.vms()).To(BeEmpty())
	update(w, machine, func(m *infrav1.VSphereMachine) { m.Annotations = nil })
	w.waitForProvisioned(machine)

	vm := w.vsphereVM("node")
	update(w, vm, func(vm *infrav1.VSphereVM) {
		metav1.SetMetaDataAnnotation(&vm.ObjectMeta, clusterv1.PausedAnnotation, "")
	})
	w.waitForPaused(vm, clusterv1.PausedReason)
	w.Expect(w.vc.PowerOffVM("node")).To(Succeed())
	w.Consistently(func() string { return w.vms()["node"].Power }, quietPeriod).Should(Equal("poweredOff"))
	update(w, vm, func(vm *infrav1.VSphereVM) { delete(vm.Annotations, clusterv1.PausedAnnotation) })
	w.Eventually(func() string { return w.vms()["node"].Power }).Should(Equal("poweredOn"))

	zone := w.zone("a", infrav1.Topology{Datacenter: "dc-9"}, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) { pause(z) })
	w.waitForPaused(zone, clusterv1.PausedReason)
	w.Expect(zone.Status.Ready).To(BeNil())
	update(w, zone, func(z *infrav1.VSphereDeploymentZone) { z.Annotations = nil })
	w.waitForCondition(zone, infrav1.VSphereDeploymentZoneDatacenterReadyCondition, infrav1.DatacenterNotFoundReason)

	identity := w.identity("paused", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { pause(i) })
	w.waitForPaused(identity, clusterv1.PausedReason)
	w.Expect(identity.Finalizers).To(BeEmpty())
	update(w, identity, func(i *infrav1.VSphereClusterIdentity) { i.Annotations = nil })
	w.waitForCondition(identity, infrav1.VSphereClusterIdentityAvailableCondition, infrav1.VSphereClusterIdentityAvailableReason)
	w.waitForPaused(identity, clusterv1.NotPausedReason)
}

// A manager with a watch filter ignores all objects without its label, even if an event of another object or of vCenter refers
// to them.
func TestWatchFilter(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	others := func(o metav1.Object) { o.GetLabels()[clusterv1.WatchLabel] = "other" }
	machine := w.worker("other", func(m *infrav1.VSphereMachine) { others(m) })
	zone := w.zone("other", infrav1.Topology{Datacenter: "dc-1"}, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) { others(z) })
	cluster := w.cluster("other", func(c *infrav1.VSphereCluster) { others(c) })
	identity := w.identity("other", &infrav1.AllowedNamespaces{}, func(i *infrav1.VSphereClusterIdentity) { others(i) })

	// Trigger events that concern them.
	w.waitForProvisioned(w.worker("ours"))
	update(w, &clusterv1.Machine{ObjectMeta: w.meta("other")}, func(m *clusterv1.Machine) { m.Spec.FailureDomain = zone.Name })
	update(w, &corev1.Secret{ObjectMeta: w.meta("account")}, func(s *corev1.Secret) { s.Labels["test"] = "changed" })
	w.Expect(w.vc.DisconnectHosts("zone-a")).To(Succeed())
	w.vc.ExpireSessions()
	w.Expect(w.vc.ReconnectHosts("zone-a")).To(Succeed())
	w.waitForProvisioned(w.worker("more"))
	w.Consistently(func(g Gomega) {
		for _, o := range []client.Object{machine, zone, cluster, identity} {
			w.get(o)
			g.Expect(o.GetFinalizers()).To(BeEmpty())
			g.Expect(o.(integration.Conditioned).GetConditions()).To(BeEmpty())
		}
		g.Expect(w.vms()).NotTo(HaveKey("other"))
	}, quietPeriod).Should(Succeed())
}
