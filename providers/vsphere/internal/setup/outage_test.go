// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	"github.com/faultline-io/faultline/shared/integration"
)

// A manager that cannot reach vCenter must not report its machines as lost: Cluster API counts machines that are not ready as
// unavailable.
func TestRunningMachinesStayReadyWhileVCenterIsDown(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	running := w.worker("running")
	w.waitForProvisioned(running)
	w.waitForCondition(running, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	w.vc.SetDown(true)
	vm := w.vsphereVM("running")
	w.waitForCondition(&infrav1.VSphereCluster{ObjectMeta: w.meta("one")}, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	waiting := w.worker("waiting")
	w.waitForCondition(waiting, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VCenterUnreachableReason)
	w.Consistently(func(g Gomega) {
		w.get(running)
		g.Expect(conditions.IsTrue(running, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(running))
		w.get(vm)
		g.Expect(conditions.IsTrue(vm, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(vm))
	}, quietPeriod).Should(Succeed())

	w.Expect(w.client.Delete(t.Context(), running)).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.get(running)
		g.Expect(conditions.GetMessage(running, infrav1.VSphereMachineVirtualMachineProvisionedCondition)).To(
			And(HavePrefix("Deleting VSphereVM running: "), ContainSubstring("vCenter cannot be reached")))
	}).Should(Succeed())
	w.vc.SetDown(false)
	w.waitForDeletion(running)
	w.waitForProvisioned(waiting)
}

// TestOutageDoesNotRewriteRunningMachines represents ten thousand machines: an outage must not cause a write for each.
func TestOutageDoesNotRewriteRunningMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one", func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = nil })
	running := w.worker("running")
	w.waitForProvisioned(running)
	waiting := w.worker("waiting", func(m *infrav1.VSphereMachine) { m.Spec.Template = "missing" })
	w.waitForCondition(waiting, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTemplateNotFoundReason)
	vm := &infrav1.VSphereVM{ObjectMeta: w.meta(running.Name)}
	versions := func() [2]string {
		return [2]string{w.get(vm).GetResourceVersion(), w.get(running).GetResourceVersion()}
	}
	before := versions()

	w.vc.SetDown(true)
	w.waitForCondition(cluster, infrav1.VSphereClusterVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	w.waitForCondition(&infrav1.VSphereVM{ObjectMeta: w.meta(waiting.Name)}, infrav1.VSphereVMVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	w.Consistently(versions, quietPeriod).Should(Equal(before))

	w.vc.SetDown(false)
	w.waitForAvailable(cluster)
	w.waitForCondition(waiting, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineTemplateNotFoundReason)
	w.Expect(versions()).To(Equal(before))
}
