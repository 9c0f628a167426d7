// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
)

// Who loses sight of its machines must not report them as lost: Cluster API counts what is not ready as unavailable.
func TestRunningMachinesStayReadyWhileVCenterIsDown(t *testing.T) {
	t.Parallel()
	w := workshop(t)
	running := w.worker("running")
	w.provisioned(running)
	w.condition(running, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	w.vc.SetDown(true)
	vm := w.vsphereVM("running")
	w.condition(vm, infrav1.VSphereVMVCenterAvailableCondition, infrav1.VCenterUnreachableReason)
	waiting := w.worker("waiting")
	w.condition(waiting, infrav1.VSphereMachineVirtualMachineProvisionedCondition, infrav1.VCenterUnreachableReason)
	w.Consistently(func(g Gomega) {
		w.get(running)
		g.Expect(conditions.IsTrue(running, clusterv1.ReadyCondition)).To(BeTrue(), "%s", describe(running))
		w.get(vm)
		g.Expect(conditions.IsTrue(vm, clusterv1.ReadyCondition)).To(BeTrue(), "%s", describe(vm))
	}, moment).Should(Succeed())

	w.Expect(w.client.Delete(t.Context(), running)).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.get(running)
		g.Expect(conditions.GetMessage(running, infrav1.VSphereMachineVirtualMachineProvisionedCondition)).To(
			And(HavePrefix("Deleting VSphereVM running: "), ContainSubstring("vCenter cannot be reached")))
	}).Should(Succeed())
	w.vc.SetDown(false)
	w.gone(running)
	w.provisioned(waiting)
}
