// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestMachinesInPlaceFollowsMigrationAndHostLabels(t *testing.T) {
	sim.NeedsMigration(t)
	t.Parallel()
	w := newFixture(t, 2, 2)
	cluster := w.cluster("c")
	machine := w.machine("c", "m", zoneName(1))
	vmi := w.waitForProvisioned(machine)
	w.expectZone(machine, zoneName(1))

	to := w.name + "-h-1-1"
	if vmi.Status.NodeName == to {
		to = w.name + "-h-1-2"
	}
	w.Expect(sim.Migrate(t.Context(), client.ObjectKeyFromObject(vmi), to)).To(Succeed())
	w.Eventually(func() string { return w.instance(machine.Name).Status.NodeName }).Should(Equal(to))
	w.expectZone(machine, zoneName(1))
	w.user().InPlace(w.metrics, cluster)

	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: to}}
	updateOnHarvester(w, host, func(host *corev1.Node) { host.Labels[w.topologyKey()] = zoneName(2) })
	w.expectZone(machine, zoneName(2))
	w.user().Elsewhere(w.metrics, cluster, machine.Name)

	updateOnHarvester(w, host, func(host *corev1.Node) { host.Labels[w.topologyKey()] = zoneName(1) })
	w.expectZone(machine, zoneName(1))
	w.user().InPlace(w.metrics, cluster)
}

// expectZone waits until the machine's status and its Node's label name the zone.
func (w *fixture) expectZone(machine *infrav1.HarvesterMachine, zone string) {
	w.t.Helper()
	integration.IsIn(w.user(), machine, func(m *infrav1.HarvesterMachine) string { return m.Status.FailureDomain }, zone)
	w.Eventually(func(g Gomega) {
		node := &corev1.Node{}
		g.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Name: machine.Name}, node)).To(Succeed())
		g.Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, zone))
	}).Should(Succeed())
}
