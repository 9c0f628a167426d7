// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// forControlPlanes returns the domains that the cluster publishes for control planes, and the number of all published domains.
func forControlPlanes(cluster *infrav1.VSphereCluster) (names []string, all int) {
	for _, domain := range cluster.Status.FailureDomains {
		if ptr.Deref(domain.ControlPlane, false) {
			names = append(names, domain.Name)
		}
	}
	return names, len(cluster.Status.FailureDomains)
}

// deselectionCases returns ways to remove all failure domains from a cluster, and to restore them.
func deselectionCases() map[string]func(*fixture, *infrav1.VSphereCluster, []*infrav1.VSphereDeploymentZone) (giveBack func()) {
	selector := func(w *fixture, cluster *infrav1.VSphereCluster, value *metav1.LabelSelector) func() {
		before := cluster.Spec.FailureDomainSelector
		update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = value })
		return func() {
			update(w, cluster, func(c *infrav1.VSphereCluster) { c.Spec.FailureDomainSelector = before })
		}
	}
	return map[string]func(*fixture, *infrav1.VSphereCluster, []*infrav1.VSphereDeploymentZone) func(){
		"a typing error in the selector": func(w *fixture, cluster *infrav1.VSphereCluster, _ []*infrav1.VSphereDeploymentZone) func() {
			return selector(w, cluster, &metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.WatchLabel: "typo"}})
		},
		"the selector is removed": func(w *fixture, cluster *infrav1.VSphereCluster, _ []*infrav1.VSphereDeploymentZone) func() {
			return selector(w, cluster, nil)
		},
		"the zones are deleted": func(w *fixture, _ *infrav1.VSphereCluster, zones []*infrav1.VSphereDeploymentZone) func() {
			domains := map[string]*infrav1.VSphereFailureDomain{}
			for _, zone := range zones {
				domain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Spec.FailureDomain}}
				w.get(domain)
				domains[zone.Name] = &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: domain.Name}, Spec: domain.Spec}
				w.Expect(w.client.Delete(w.t.Context(), zone)).To(Succeed())
				w.waitForDeletion(zone)
			}
			return func() {
				for _, zone := range zones {
					w.create(domains[zone.Name])
					w.create(&infrav1.VSphereDeploymentZone{
						ObjectMeta: metav1.ObjectMeta{Name: zone.Name, Labels: zone.Labels}, Spec: zone.Spec,
					})
				}
			}
		},
		"the zones lose their labels": func(w *fixture, cluster *infrav1.VSphereCluster, zones []*infrav1.VSphereDeploymentZone) func() {
			label := func(change func(map[string]string)) {
				for _, zone := range zones {
					update(w, zone, func(z *infrav1.VSphereDeploymentZone) { change(z.Labels) })
				}
			}
			label(func(labels map[string]string) { labels["environment"] = "production" })
			selector(w, cluster, &metav1.LabelSelector{MatchLabels: map[string]string{"environment": "production"}})
			w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
			label(func(labels map[string]string) { delete(labels, "environment") })
			return func() { label(func(labels map[string]string) { labels["environment"] = "production" }) }
		},
	}
}

// Without any domain, Cluster API would create control-plane machines that name none, and they could be placed anywhere.
func TestLastDomainsStayPublished(t *testing.T) {
	t.Parallel()
	for name, deselect := range deselectionCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, simulator.ThreeZones())
			cluster := w.cluster("one")
			zones := w.threeZones()
			w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)

			giveBack := deselect(w, cluster, zones)
			message := w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, infrav1.VSphereClusterFailureDomainsNoneSelectedReason)
			kept, all := forControlPlanes(cluster)
			w.Expect(kept).To(HaveLen(1), "one is published for control planes")
			w.Expect(all).To(BeNumerically(">=", 1))
			w.Expect(message).To(ContainSubstring(kept[0]))
			published, known := domain(cluster, kept[0])
			w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned))
			w.Expect(known.RemovedSince.IsZero()).To(BeFalse())
			w.Expect(published.Attributes).To(HaveKeyWithValue("reason", faultlinev1.ReasonLastControlPlaneDomain))

			nowhere := w.machine("one", "nowhere", "", controlPlane)
			w.Expect(w.waitForCondition(nowhere, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotNamedReason)).
				To(ContainSubstring("nowhere"))
			there := w.machine("one", "there", kept[0], controlPlane)
			w.Eventually(func(g Gomega) {
				w.get(there)
				g.Expect(conditions.IsFalse(there, infrav1.VSphereMachinePlacementReadyCondition)).To(BeTrue())
			}).Should(Succeed())
			w.Consistently(w.vms, quietPeriod).Should(BeEmpty())

			giveBack()
			w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
			w.waitForProvisioned(there)
			w.waitForCondition(nowhere, infrav1.VSphereMachinePlacementReadyCondition, infrav1.VSphereMachineFailureDomainNotNamedReason)
			update(w, &clusterv1.Machine{ObjectMeta: w.meta("nowhere")}, func(m *clusterv1.Machine) { m.Spec.FailureDomain = zones[1].Name })
			w.waitForProvisioned(nowhere)
		})
	}
}

// Workers may be spread by a MachineDeployment per domain, or not at all.
func TestWorkerWithoutDomainDoesNotWait(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	worker := w.machine("one", "worker", "", func(m *infrav1.VSphereMachine) {
		m.Spec.ResourcePool, m.Spec.Datastore = "/dc-1/host/zone-b/Resources", "datastore-b"
		m.Spec.Network.Devices[0].NetworkName = "network-b"
	})
	w.waitForProvisioned(worker)
}

func TestControlPlaneWithWorkerZonesOnly(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	w.zone("a", infrav1.Topology{
		Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a", Networks: []string{"network-a"},
	}, func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
		z.Spec.ControlPlane = ptr.To(false)
	})
	w.waitForPublished(cluster)
	w.waitForProvisioned(w.machine("one", "cp", "", controlPlane, func(m *infrav1.VSphereMachine) {
		m.Spec.ResourcePool, m.Spec.Datastore = "/dc-1/host/zone-b/Resources", "datastore-b"
		m.Spec.Network.Devices[0].NetworkName = "network-b"
	}))
}

// A zone in deletion waits for its machines. If it were published as Active, it would get new ones and wait for them.
func TestZoneInDeletionReceivesNoControlPlaneMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	machine := w.machine("one", "cp-c", zones[2].Name, controlPlane)
	w.waitForProvisioned(machine)

	w.Expect(w.client.Delete(t.Context(), zones[2])).To(Succeed())
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name)
	published, known := domain(cluster, zones[2].Name)
	w.Expect(known.State).To(Equal(faultlinev1.DomainCordoned))
	w.Expect(published.Attributes).To(HaveKeyWithValue("reason", faultlinev1.ReasonDomainDeleting))
	w.Expect(conditions.IsTrue(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition)).To(BeTrue(), "the user requested it")

	w.remove(machine)
	w.waitForDeletion(zones[2])
	w.Eventually(func() int { _, all := forControlPlanes(w.get(cluster).(*infrav1.VSphereCluster)); return all }).Should(Equal(2))
}

// A zone that is added to a running cluster is only Cordoned until it has been checked.
func TestAddedZoneDoesNotMakeARunningClusterNotReady(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.waitForCondition(cluster, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	added := w.zone("d", infrav1.Topology{Datacenter: "dc-1", ComputeCluster: "zone-a", Datastore: "datastore-a"},
		func(z *infrav1.VSphereDeploymentZone, _ *infrav1.VSphereFailureDomain) {
			z.Spec.Thumbprint = "00:11:22:33:44:55:66:77:88:99:AA:BB:CC:DD:EE:FF:00:11:22:33" // never checked
		})
	w.Eventually(func() faultlinev1.DomainState {
		_, known := domain(w.get(cluster).(*infrav1.VSphereCluster), added.Name)
		return known.State
	}).Should(Equal(faultlinev1.DomainCordoned))
	w.Expect(conditions.IsTrue(cluster, clusterv1.ReadyCondition)).To(BeTrue(), "%s", integration.Describe(cluster))
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
}
