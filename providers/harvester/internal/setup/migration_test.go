// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/testworld"
)

func TestAMachineThatMigratesInsideOfItsZoneIsInPlaceAndOneWhoseHostChangesZoneIsSaidToBeElsewhereUntilItIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, 2, 2)
	cluster := w.cluster("c")
	machine := w.machine("c", "m", zoneName(1))
	vmi := w.provisioned(machine)
	w.isIn(cluster, machine, zoneName(1), 0)

	to := w.name + "-h-1-1"
	if vmi.Status.NodeName == to {
		to = w.name + "-h-1-2"
	}
	w.Expect(sim.Migrate(t.Context(), client.ObjectKeyFromObject(vmi), to)).To(Succeed())
	w.Eventually(func() string { return w.instance(machine.Name).Status.NodeName }).Should(Equal(to))
	w.isIn(cluster, machine, zoneName(1), 0)

	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: to}}
	updateThere(w, host, func(host *corev1.Node) { host.Labels[w.topologyKey()] = zoneName(2) })
	w.isIn(cluster, machine, zoneName(2), 1)
	w.Expect(w.condition(cluster, faultlinev1.MachinesInPlaceCondition, faultlinev1.ReasonMachinesElsewhere)).To(ContainSubstring(machine.Name))
	w.Eventually(w.events(faultlinev1.ReasonMachinesElsewhere)).Should(ContainElement(ContainSubstring(machine.Name)))

	updateThere(w, host, func(host *corev1.Node) { host.Labels[w.topologyKey()] = zoneName(1) })
	w.isIn(cluster, machine, zoneName(1), 0)
	w.condition(cluster, faultlinev1.MachinesInPlaceCondition, faultlinev1.ReasonMachinesInPlace)
}

// isIn waits until the machine, its Node and the metric of machines that are elsewhere say where it is. Cluster API is played, which takes
// from the machine what its Machine says.
func (w *world) isIn(cluster *infrav1.HarvesterCluster, machine *infrav1.HarvesterMachine, zone string, elsewhere float64) {
	w.t.Helper()
	explain := func() string { return testworld.Describe(cluster) + testworld.Describe(machine) }
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.FailureDomain).To(Equal(zone))
	}).Should(Succeed(), explain)
	owner := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: machine.Name}}
	testworld.Update(w.user(), owner, testworld.Status, func(owner *clusterv1.Machine) {
		owner.Status.NodeRef, owner.Status.FailureDomain = clusterv1.MachineNodeReference{Name: machine.Name}, zone
	})
	w.Eventually(func(g Gomega) {
		node := &corev1.Node{}
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Name: machine.Name}, node)).To(Succeed())
		g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, zone))
		g.Expect(w.metric("capi_failure_domain_misplaced_machines")).To(Equal(elsewhere))
	}).Should(Succeed(), explain)
}

// metric is the sum of a gauge's values.
func (w *world) metric(name string) (sum float64) {
	families, err := w.metrics.Gather()
	w.Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != name {
			continue
		}
		for _, metric := range family.GetMetric() {
			sum += metric.GetGauge().GetValue()
		}
	}
	return sum
}
