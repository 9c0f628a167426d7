// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func TestNamespaceDeletion(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.threeZones()
	cluster := w.cluster("one")
	machine, pooled := w.machine("one", "cp", w.name+"-a"), w.machine("one", "pooled", w.name+"-b", fromPools("v4"))
	w.fulfillClaim(w.address("pooled-0-0", "10.0.0.5", 24, "10.0.0.1"))
	w.waitForProvisioned(machine)
	w.waitForProvisioned(pooled)
	const task = "Destroy_Task"
	w.vc.HoldTasks(task)

	deletion := w.user().DeleteNamespace(apiServer, w.name)
	for _, name := range []string{"cp", "pooled"} {
		w.Eventually(func() string {
			return w.waitForCondition(w.vsphereVM(name), infrav1.VSphereVMVirtualMachineProvisionedCondition, infrav1.VSphereVMVirtualMachineDeletingReason)
		}).Should(MatchRegexp("Waiting for task .* to complete"))
	}
	w.Expect(w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsDeletingReason)).
		To(And(ContainSubstring("VSphereMachine cp"), ContainSubstring("VSphereVM cp")))
	w.Expect(w.addressClaims()).To(ConsistOf("pooled-0-0"), "the virtual machine still has the address")

	w.vc.ReleaseTasks(task)
	deletion.Ends()
	w.Expect(w.vms()).To(BeEmpty())
}
