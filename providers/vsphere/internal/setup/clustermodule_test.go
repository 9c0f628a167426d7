// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/clustermodule"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// newFixtureWithModules returns a fixture without failure domains in which cluster "one" has cluster modules, a control plane
// "plane" and a MachineDeployment "workers".
func newFixtureWithModules(t *testing.T, changes ...func(*infrav1.VSphereCluster)) (*fixture, *infrav1.VSphereCluster) {
	t.Helper()
	w := newFixture(t, simulator.ThreeZones(), simulator.WithVersion("8.0.3"))
	w.stop()
	w.modules = true
	w.start()
	infra := w.cluster("one", append(changes, func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })...)
	update(w, &clusterv1.Cluster{ObjectMeta: w.meta("one")}, func(c *clusterv1.Cluster) {
		c.Spec.ControlPlaneRef = clusterv1.ContractVersionedObjectReference{
			APIGroup: "controlplane.cluster.x-k8s.io", Kind: "KubeadmControlPlane", Name: "plane",
		}
	})
	w.deployment("workers")
	return w, infra
}

func (w *fixture) deployment(name string) *clusterv1.MachineDeployment {
	w.t.Helper()
	return w.user().MachineDeployment("one", 1, &infrav1.VSphereMachine{ObjectMeta: w.meta(name)})
}

func memberOf(deployment string) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) { m.Labels[clusterv1.MachineDeploymentNameLabel] = deployment }
}

func inZone(letter string) func(*infrav1.VSphereMachine) {
	return func(m *infrav1.VSphereMachine) { m.Spec.ResourcePool = "/dc-1/host/zone-" + letter + "/Resources" }
}

// members returns the members of all cluster modules, each with its compute cluster.
func (w *fixture) members() map[string][]string {
	members := map[string][]string{}
	for _, module := range w.vc.Modules() {
		members[module.Cluster] = append(members[module.Cluster], module.VMs...)
	}
	return members
}

func TestMachinesJoinModuleBeforePowerOn(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.vc.HoldTasks("PowerOnVM_Task")
	plane := w.worker("cp-0", controlPlane)
	first, second, elsewhere := w.worker("node-0", memberOf("workers")), w.worker("node-1", memberOf("workers")), w.worker("node-2", memberOf("workers"), inZone("b"))
	alone := w.worker("alone")
	w.Eventually(w.members).Should(And(HaveLen(2), HaveKeyWithValue("zone-a", ConsistOf("cp-0", "node-0", "node-1")), HaveKeyWithValue("zone-b", ConsistOf("node-2"))))
	w.vc.ReleaseTasks("PowerOnVM_Task")
	for _, machine := range []*infrav1.VSphereMachine{plane, first, second, elsewhere, alone} {
		w.waitForProvisioned(machine)
	}
	w.Expect(w.vc.Modules()).To(HaveLen(3))
	w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesReadyReason)
	w.Expect(infra.Spec.ClusterModules).To(HaveLen(3))
	uuid := func(name string) string { return ptr.Deref(w.vsphereVM(name).Status.ModuleUUID, "") }
	w.Expect(uuid("node-0")).To(And(Not(BeEmpty()), Equal(uuid("node-1")), Not(Equal(uuid("node-2"))), Not(Equal(uuid("cp-0")))))
	w.Expect(uuid("alone")).To(BeEmpty())

	w.remove(second)
	w.Expect(w.members()["zone-a"]).To(ConsistOf("cp-0", "node-0"))
	w.remove(first)
	w.remove(elsewhere)
	w.Expect(w.vc.Modules()).To(HaveLen(3), "the MachineDeployment may have machines again")
	w.Expect(w.client.Delete(t.Context(), &clusterv1.MachineDeployment{ObjectMeta: w.meta("workers")})).To(Succeed())
	w.Eventually(w.vc.Modules).Should(ConsistOf(HaveField("VMs", ConsistOf("cp-0"))))
	w.remove(plane)
	w.remove(alone)
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.waitForDeletion(infra)
	w.Expect(w.vc.Modules()).To(BeEmpty())
}

// A module has no name: one that was created but not recorded is identified by comparison with the modules that existed before.
func TestModuleIsCreatedOnceDespiteLostResponse(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	others, err := w.vc.AddModule("zone-a")
	w.Expect(err).NotTo(HaveOccurred())
	w.vc.LoseAnswers("REST POST /rest/vcenter/cluster/modules", 1)
	machine := w.worker("node", memberOf("workers"))
	w.waitForProvisioned(machine)
	w.triggerReconcile(infra)
	w.Eventually(func() *string { return w.vsphereVM("node").Status.ModuleUUID }).ShouldNot(BeNil())
	w.Expect(w.vc.Modules()).To(ConsistOf(
		And(HaveField("UUID", others), HaveField("VMs", BeEmpty())), HaveField("VMs", ConsistOf("node"))))
	w.get(infra)
	w.Expect(infra.Spec.ClusterModules).To(HaveLen(1))
	w.Expect(infra.Annotations).NotTo(HaveKey(ContainSubstring("creating")))
}

// triggerReconcile triggers a reconcile of an object.
func (w *fixture) triggerReconcile(infra *infrav1.VSphereCluster) {
	w.t.Helper()
	update(w, infra, func(c *infrav1.VSphereCluster) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, "poked", "yes") })
}

func TestMachinesDoNotWaitForImpossibleModules(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.vc.SetModules(false)
	w.waitForProvisioned(w.worker("node", memberOf("workers")))
	message := w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesNotReadyReason)
	w.Expect(message).To(And(ContainSubstring("Host.Inventory.EditCluster"), ContainSubstring("spec.disableClusterModule")))
	w.vc.SetModules(true)
	w.triggerReconcile(infra)
	w.Eventually(w.members).Should(HaveKeyWithValue("zone-a", ConsistOf("node")))
	w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterClusterModulesReadyReason)
}

// No module is ever created for these.
func TestMachinesWithoutModuleDoNotWait(t *testing.T) {
	t.Parallel()
	w, _ := newFixtureWithModules(t)
	orphan := w.worker("orphan", memberOf("deleted"))
	elsewhere := w.worker("elsewhere", memberOf("workers"), func(m *infrav1.VSphereMachine) {
		m.Spec.Server, m.Spec.Thumbprint = strings.Replace(w.vc.Host(), "127.0.0.1", "localhost", 1), w.vc.Thumbprint() // not the VSphereCluster's
	})
	w.waitForProvisioned(orphan)
	w.waitForProvisioned(elsewhere)
	w.Expect(w.vc.Modules()).To(BeEmpty())
}

func TestUpstreamModulesAreUsedAndRecreated(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	uuid, err := w.vc.AddModule("zone-a")
	w.Expect(err).NotTo(HaveOccurred())
	update(w, infra, func(c *infrav1.VSphereCluster) {
		c.Spec.ClusterModules = []infrav1.ClusterModule{clustermodule.Record(clustermodule.Target{Name: "workers"}, uuid)}
	})
	w.waitForProvisioned(w.worker("node-0", memberOf("workers")))
	w.Expect(w.vc.Modules()).To(ConsistOf(And(HaveField("UUID", uuid), HaveField("VMs", ConsistOf("node-0")))))

	w.vc.RemoveModule(uuid)
	w.waitForProvisioned(w.worker("node-1", memberOf("workers")))
	w.Eventually(w.members).Should(HaveKeyWithValue("zone-a", ConsistOf("node-0", "node-1")))
	w.Expect(w.vc.Modules()).To(HaveLen(1))
	w.get(infra)
	w.Expect(infra.Spec.ClusterModules).To(ConsistOf(HaveField("ModuleUUID", w.vc.Modules()[0].UUID)))
}

// Upstream labels the VSphereVMs of workers only with their cluster.
func TestUpstreamWorkerJoinsModule(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.stop()
	w.modules = false
	w.start()
	recorded, err := w.vc.AddModule("zone-a")
	w.Expect(err).NotTo(HaveOccurred())
	update(w, infra, func(c *infrav1.VSphereCluster) {
		c.Spec.ClusterModules = []infrav1.ClusterModule{clustermodule.Record(clustermodule.Target{Name: "workers"}, recorded)}
	})
	w.waitForProvisioned(w.worker("node", memberOf("workers")))
	w.waitForProvisioned(w.worker("elsewhere", memberOf("workers"), inZone("b")))
	w.stop()
	for _, name := range []string{"node", "elsewhere"} {
		update(w, w.vsphereVM(name), func(vm *infrav1.VSphereVM) { delete(vm.Labels, clusterv1.MachineDeploymentNameLabel) })
	}
	w.modules = true
	w.start()
	w.Eventually(w.vc.Modules).Should(ConsistOf(
		And(HaveField("UUID", recorded), HaveField("VMs", ConsistOf("node"))),
		And(HaveField("Cluster", "zone-b"), HaveField("VMs", ConsistOf("elsewhere")))))
	w.Eventually(func() string { return ptr.Deref(w.vsphereVM("node").Status.ModuleUUID, "") }).Should(Equal(recorded))
}

func TestDisabledModulesAreDeleted(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.waitForProvisioned(w.worker("node", memberOf("workers")))
	w.Expect(w.vc.Modules()).To(HaveLen(1))
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.DisableClusterModule = ptr.To(true) })
	w.Eventually(w.vc.Modules).Should(BeEmpty())
	w.Eventually(func(g Gomega) {
		g.Expect(w.vsphereVM("node").Status.ModuleUUID).To(BeNil())
		w.get(infra)
		g.Expect(infra.Spec.ClusterModules).To(BeEmpty())
		g.Expect(conditions.Has(infra, infrav1.VSphereClusterClusterModulesReadyCondition)).To(BeFalse())
	}).Should(Succeed())
	w.waitForProvisioned(w.worker("other", memberOf("workers")))
	w.Expect(w.vc.Modules()).To(BeEmpty())
}

func TestModulesWithoutFeatureGate(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.stop()
	w.modules = false
	w.start()
	uuid, err := w.vc.AddModule("zone-a")
	w.Expect(err).NotTo(HaveOccurred())
	update(w, infra, func(c *infrav1.VSphereCluster) {
		c.Spec.ClusterModules = []infrav1.ClusterModule{clustermodule.Record(clustermodule.Target{Name: "workers"}, uuid)}
	})
	machine := w.worker("node", memberOf("workers"), inZone("b"))
	w.waitForProvisioned(machine)
	w.Expect(w.vc.Modules()).To(ConsistOf(And(HaveField("UUID", uuid), HaveField("VMs", BeEmpty()))))
	w.remove(machine)
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.waitForDeletion(infra)
	w.Expect(w.vc.Modules()).To(BeEmpty())
}

func TestOldVCenterWithoutModules(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones(), simulator.WithVersion("6.7.3"))
	w.stop()
	w.modules = true
	w.start()
	infra := w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	w.waitForProvisioned(w.worker("node", memberOf("workers")))
	message := w.waitForCondition(infra, infrav1.VSphereClusterClusterModulesReadyCondition, infrav1.VSphereClusterModulesInvalidVCenterVersionReason)
	w.Expect(message).To(And(ContainSubstring("6.7.3"), ContainSubstring("spec.disableClusterModule")))
}

// A VSphereCluster that was copied from another's YAML has the modules of that one in its spec.
func TestCopiedClusterKeepsOriginalModules(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.waitForProvisioned(w.worker("node", memberOf("workers")))
	w.Eventually(w.members).Should(HaveKeyWithValue("zone-a", ConsistOf("node")))
	empty, err := w.vc.AddModule("zone-b")
	w.Expect(err).NotTo(HaveOccurred())
	update(w, infra, func(c *infrav1.VSphereCluster) {
		c.Spec.ClusterModules = append(c.Spec.ClusterModules, clustermodule.Record(clustermodule.Target{Name: "workers"}, empty))
	})
	before := w.vc.Modules()
	w.Expect(before).To(HaveLen(2))

	w.account("account-two")
	copied := w.cluster("two", func(c *infrav1.VSphereCluster) {
		c.Spec = *infra.Spec.DeepCopy()
		c.Spec.IdentityRef.Name = "account-two"
	})
	w.Eventually(func(g Gomega) {
		w.get(copied)
		g.Expect(copied.Spec.ClusterModules).To(BeEmpty(), "%s", integration.Describe(copied))
	}).Should(Succeed())
	w.Expect(w.client.Delete(t.Context(), copied)).To(Succeed())
	w.waitForDeletion(copied)
	w.Expect(w.vc.Modules()).To(ConsistOf(before))
	w.get(infra)
	w.Expect(infra.Spec.ClusterModules).To(HaveLen(2))
}

// The first one may be in another management cluster.
func TestModuleWithForeignMachinesIsNotDeleted(t *testing.T) {
	t.Parallel()
	w, infra := newFixtureWithModules(t)
	w.waitForProvisioned(w.worker("node", memberOf("workers")))
	w.Eventually(w.members).Should(HaveKeyWithValue("zone-a", ConsistOf("node")))
	w.Eventually(func() int { return len(w.get(infra).(*infrav1.VSphereCluster).Spec.ClusterModules) }).Should(Equal(1))
	spec := *infra.Spec.DeepCopy()
	w.stop()
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.ClusterModules = nil })
	copied := w.cluster("two", func(c *infrav1.VSphereCluster) { c.Spec, c.Finalizers = spec, []string{infrav1.ClusterFinalizer} })
	w.Expect(w.client.Delete(t.Context(), copied)).To(Succeed())
	w.start()
	w.waitForDeletion(copied)
	w.Expect(w.vc.Modules()).To(ContainElement(HaveField("UUID", spec.ClusterModules[0].ModuleUUID)))
}
