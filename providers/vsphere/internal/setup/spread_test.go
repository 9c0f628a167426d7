// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// spreads enables spreading the workers of a cluster.
func spreads(change func(*faultlinev1.WorkersDistribution)) func(*infrav1.VSphereCluster) {
	return func(cluster *infrav1.VSphereCluster) {
		cluster.Spec.Distribution.Workers.Enabled = ptr.To(true)
		change(&cluster.Spec.Distribution.Workers)
	}
}

// workers creates machines of the MachineDeployment md without a zone. Their Machines have the label from the start.
func (w *fixture) workers(from, to int) []*infrav1.VSphereMachine {
	w.t.Helper()
	var machines []*infrav1.VSphereMachine
	for i := from; i <= to; i++ {
		name := fmt.Sprintf("md-%d", i)
		machines = append(machines, w.machine("one", name, "", func(m *infrav1.VSphereMachine) {
			m.Labels[clusterv1.MachineDeploymentNameLabel] = "md"
		}))
	}
	return machines
}

// perZone counts the virtual machines per compute cluster in vCenter.
func (w *fixture) perZone() map[string]int {
	counts := map[string]int{}
	for _, vm := range w.vms() {
		counts[vm.Cluster]++
	}
	return counts
}

func (w *fixture) machineDeployment(replicas int32) {
	w.t.Helper()
	w.user().MachineDeployment("one", replicas, &infrav1.VSphereMachine{ObjectMeta: w.meta("md")})
}

func TestWorkersOfOneMachineDeploymentAreSpreadOverTheZones(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zones := w.threeZones()
	infra := w.cluster("one", spreads(func(*faultlinev1.WorkersDistribution) {}))
	w.waitForCondition(infra, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	w.machineDeployment(6)
	for _, machine := range w.workers(1, 6) {
		w.waitForProvisioned(machine)
		w.Expect(machine.Annotations[faultlinev1.AssignedFailureDomainAnnotation]).To(Equal(ptr.Deref(machine.Status.FailureDomain, "")))
	}
	w.Expect(w.perZone()).To(Equal(map[string]int{"zone-a": 2, "zone-b": 2, "zone-c": 2}))
	w.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonBalanced)

	failureDomain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zones[0].Spec.FailureDomain}}
	w.get(failureDomain)
	before := client.MergeFrom(failureDomain.DeepCopy())
	failureDomain.Spec.Topology.Datastore = "another"
	w.Expect(w.client.Patch(t.Context(), failureDomain, before)).To(MatchError(ContainSubstring("md-")), "machines that were assigned the zone use it")

	update(w, infra, func(c *infrav1.VSphereCluster) {
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: zones[0].Name, State: faultlinev1.DomainCordoned}}
	})
	for _, machine := range w.workers(7, 8) {
		w.waitForProvisioned(machine)
	}
	w.Expect(w.perZone()).To(Equal(map[string]int{"zone-a": 2, "zone-b": 3, "zone-c": 3}))
}

func TestWorkerWaitsForZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zones := w.threeZones()
	infra := w.cluster("one", spreads(func(*faultlinev1.WorkersDistribution) {}), func(c *infrav1.VSphereCluster) {
		for _, zone := range zones {
			c.Spec.Distribution.FailureDomains = append(c.Spec.Distribution.FailureDomains,
				faultlinev1.FailureDomainIntent{Name: zone.Name, State: faultlinev1.DomainCordoned})
		}
	})
	w.machineDeployment(1)
	machine := w.workers(1, 1)[0]
	w.waitForCondition(machine, infrav1.VSphereMachinePlacementReadyCondition, faultlinev1.ReasonFailureDomainNotAssigned)
	w.Expect(conditions.GetLastTransitionTime(machine, infrav1.VSphereMachinePlacementReadyCondition).Sub(machine.CreationTimestamp.Time)).
		To(BeNumerically(">=", 4*time.Second), "waiting is reported only after a while without an assignment")
	w.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonWorkersWaiting)
	w.Expect(w.vms()).To(BeEmpty())
	update(w, infra, func(c *infrav1.VSphereCluster) { c.Spec.Distribution.FailureDomains = nil })
	w.waitForProvisioned(machine)
}

func TestLogicalFailureDomainsBySeparateRegions(t *testing.T) {
	t.Parallel()
	layout := simulator.ThreeDatacenters()
	for i := range layout.Tags {
		if tag := &layout.Tags[i]; tag.Category == simulator.RegionCategory {
			tag.On = []string{"/dc-a", "/dc-b"}
		}
	}
	const another = "region-2"
	layout.Tags = append(layout.Tags, simulator.Tag{Category: simulator.RegionCategory, Name: another, On: []string{"/dc-c"}})
	w := newFixture(t, layout)
	for _, letter := range []string{"a", "b", "c"} {
		w.zone(letter, infrav1.Topology{Datacenter: "dc-" + letter, Datastore: simulator.SharedDatastore},
			func(_ *infrav1.VSphereDeploymentZone, domain *infrav1.VSphereFailureDomain) {
				if letter == "c" {
					domain.Spec.Region.Name = another
				}
			})
	}
	infra := w.cluster("one", spreads(func(workers *faultlinev1.WorkersDistribution) {
		workers.DesiredFailureDomains, workers.Required, workers.TopologyKey = ptr.To[int32](2), ptr.To(true), corev1.LabelTopologyRegion
	}))
	w.waitForCondition(infra, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	w.machineDeployment(4)
	machines := w.workers(1, 4)
	keysOf := map[bool]map[string]int{false: {}, true: {}}
	for _, machine := range machines {
		w.waitForProvisioned(machine)
		keysOf[w.vms()[machine.Name].Datacenter == "dc-c"][machine.Labels[faultlinev1.DistributionKeyLabel]]++
	}
	w.Expect(keysOf[true]).To(HaveLen(1), "one logical domain is in the region of dc-c")
	w.Expect(keysOf[false]).To(HaveLen(1), "the other is in that of dc-a and dc-b: %v", keysOf)
	w.waitForCondition(infra, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonBalanced)
}
