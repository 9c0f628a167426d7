// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestermachine_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/status"
)

func TestMachineWaitsForIDOfCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t, func(cluster *infrav1.HarvesterCluster) { cluster.Annotations = nil })
	show := func(change func(*infrav1.HarvesterCluster)) {
		integration.Update(w.user(), w.infra, integration.Status, change)
	}
	show(func(cluster *infrav1.HarvesterCluster) {
		cluster.Status.ID = "drawn"
		status.False(cluster, infrav1.InfrastructureReadyCondition, infrav1.AnnotationsRemovedReason, "nothing is made: a policy removes annotation x")
	})
	w.start()
	infra := w.machine("a", "zone-1")
	w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.AnnotationsRemovedReason)).To(
		Equal("Waiting for the HarvesterCluster: nothing is made: a policy removes annotation x"))
	w.Expect(w.latest(infra).Finalizers).To(BeEmpty(), "nothing is made")

	show(func(cluster *infrav1.HarvesterCluster) {
		status.True(cluster, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	})
	w.waitForProvisioned(infra)
}

func TestNothingIsCreatedWhileIDOfMachineIsRemoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	example := &infrav1.HarvesterMachine{ObjectMeta: w.meta("example")}
	keep := w.user().Strip(example, "infrastructure.cluster.x-k8s.io/")
	w.start()
	infra := w.machine("a", "zone-1")
	w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.AnnotationsRemovedReason)).To(And(
		HavePrefix("nothing is changed on Harvester: "), ContainSubstring("annotation "+infrav1.MachineIDAnnotation)))
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{})).To(HaveField("Items", BeEmpty()))
	w.Expect(w.listOnHarvester(&corev1.SecretList{})).To(HaveField("Items", BeEmpty()))

	keep()
	w.update(infra, func(now *infrav1.HarvesterMachine) { now.Labels["touched"] = "" })
	w.waitForProvisioned(infra)
}

func TestRemovedIDIsRestoredFromVirtualMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	before := w.waitForProvisioned(infra).Annotations
	w.update(infra, func(now *infrav1.HarvesterMachine) { now.Annotations = nil })
	w.Eventually(func() map[string]string { return w.latest(infra).Annotations }).Should(Equal(before))
	w.Expect(w.vm(infra).Labels).To(HaveKeyWithValue(infrav1.MachineIDLabel, before[infrav1.MachineIDAnnotation]))
	w.update(infra, func(now *infrav1.HarvesterMachine) { now.Annotations = nil })
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{})).To(HaveField("Items", BeEmpty()))
	w.Expect(w.listOnHarvester(&corev1.SecretList{})).To(HaveField("Items", BeEmpty()))
	w.Expect(w.claimNames()).To(BeEmpty())
}
