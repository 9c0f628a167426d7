// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// workers creates machines of MachineDeployment md in cluster c, without a failure domain.
func (w *fixture) workers(from, to int) []*infrav1.HarvesterMachine {
	w.t.Helper()
	var machines []*infrav1.HarvesterMachine
	for i := from; i <= to; i++ {
		machines = append(machines, w.machine("c", fmt.Sprintf("md-%d", i), "", func(machine *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
			machine.Labels[clusterv1.MachineDeploymentNameLabel] = "md"
			infra.Labels[clusterv1.MachineDeploymentNameLabel] = "md"
		}))
	}
	return machines
}

func (w *fixture) machineDeployment(replicas int32) {
	w.t.Helper()
	w.user().MachineDeployment("c", replicas, &infrav1.HarvesterMachine{ObjectMeta: w.meta("md")})
}

// countHostsAndZones provisions machines and returns their number per host and per zone.
func (w *fixture) countHostsAndZones(machines []*infrav1.HarvesterMachine) (hosts map[string]int, zones map[string]int) {
	w.t.Helper()
	hosts, zones = map[string]int{}, map[string]int{}
	for _, machine := range machines {
		vmi := w.waitForProvisioned(machine)
		hosts[vmi.Status.NodeName]++
		zones[w.zoneOf(vmi)]++
	}
	return hosts, zones
}

func TestWorkersAreSpreadOverZonesAndHosts(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, 2)
	cluster := w.cluster("c", func(c *infrav1.HarvesterCluster) { c.Spec.Distribution.Workers.Enabled = ptr.To(true) })
	w.machineDeployment(6)
	hosts, zones := w.countHostsAndZones(w.workers(1, 6))
	w.Expect(zones).To(Equal(map[string]int{"zone-1": 2, "zone-2": 2, "zone-3": 2}))
	w.Expect(hosts).To(HaveLen(6), "no two on one host")
	w.waitForReason(cluster, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonBalanced)

	update(w, cluster, func(c *infrav1.HarvesterCluster) {
		c.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: zoneName(1), State: faultlinev1.DomainCordoned}}
	})
	_, zones = w.countHostsAndZones(w.workers(7, 8))
	w.Expect(zones).To(Equal(map[string]int{"zone-2": 1, "zone-3": 1}))
}

func TestMachineWaitsForUnhealthyZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, 2)
	cluster := w.cluster("c", func(c *infrav1.HarvesterCluster) {
		c.Spec.Distribution.GracePeriodSeconds, c.Spec.Distribution.HoldPeriodSeconds = ptr.To[int32](0), ptr.To[int32](0)
	})
	w.waitForReason(cluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	down := []string{w.name + "-h-2-1", w.name + "-h-2-2"}
	for _, host := range down {
		w.Expect(sim.PowerOffHost(t.Context(), host)).To(Succeed())
	}
	w.Expect(w.waitForReason(cluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonDomainsNotActive)).To(ContainSubstring(down[0]))
	machine := w.machine("c", "m", zoneName(2), controlPlane)
	w.waitForReason(machine, infrav1.MachineCreatedCondition, infrav1.FailureDomainHostsUnhealthyReason)
	vms := &kubevirtv1.VirtualMachineList{}
	w.Expect(w.harvester.List(t.Context(), vms, client.InNamespace(w.name))).To(Succeed())
	w.Expect(vms.Items).To(BeEmpty(), "nothing is made outside of the zone, nor in it")
	w.Expect(sim.PowerOnHost(t.Context(), down[0])).To(Succeed())
	w.Expect(w.waitForProvisioned(machine).Status.NodeName).To(Equal(down[0]))
}

func TestMachinesWithoutFailureDomainUseDifferentHosts(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManager(t)
	for i := range 3 {
		w.host(fmt.Sprintf("h-%d", i), "", func(h *simulator.Host) { h.Labels["of"] = w.name })
	}
	w.start()
	w.cluster("c")
	var machines []*infrav1.HarvesterMachine
	for i := range 3 {
		machines = append(machines, w.machine("c", fmt.Sprintf("m-%d", i), "", controlPlane, func(_ *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
			infra.Spec.NodeAffinity = requires("of", w.name)
		}))
	}
	hosts, _ := w.countHostsAndZones(machines)
	w.Expect(hosts).To(HaveLen(3))
}

// requires returns an affinity that requires hosts with the label.
func requires(key, value string) *corev1.NodeAffinity {
	return &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
		NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
			{Key: key, Operator: corev1.NodeSelectorOpIn, Values: []string{value}},
		}}},
	}}
}

func TestLogicalFailureDomainsUseDifferentZones(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 3, 2)
	w.cluster("c", func(c *infrav1.HarvesterCluster) {
		c.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{
			Enabled: ptr.To(true), DesiredFailureDomains: ptr.To[int32](2), Required: ptr.To(true),
		}
	})
	w.machineDeployment(4)
	zones := map[string]map[string]int{}
	for _, machine := range w.workers(1, 4) {
		zone := w.zoneOf(w.waitForProvisioned(machine))
		key := machine.Labels[faultlinev1.DistributionKeyLabel]
		if zones[key] == nil {
			zones[key] = map[string]int{}
		}
		zones[key][zone]++
		vm := &kubevirtv1.VirtualMachine{}
		w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(machine), vm)).To(Succeed())
		w.Expect(vm.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution).To(HaveLen(1))
	}
	w.Expect(zones).To(HaveLen(2))
	w.Expect(zones["md-0"]).To(HaveLen(1), "machines of one logical domain share a zone")
	w.Expect(zones["md-1"]).To(HaveLen(1))
	w.Expect(zones["md-0"]).NotTo(Equal(zones["md-1"]))
}

func TestLogicalFailureDomainsUseDifferentRegions(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManager(t)
	for _, host := range []string{"1-1", "1-2", "2-1", "2-2", "3-1", "3-2"} {
		w.host(host, "zone-"+host[:1], func(h *simulator.Host) {
			h.Labels[corev1.LabelTopologyRegion] = map[bool]string{false: "north", true: "south"}[host[:1] == "3"]
		})
	}
	w.start()
	cluster := w.cluster("c", func(c *infrav1.HarvesterCluster) {
		c.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{
			Enabled: ptr.To(true), DesiredFailureDomains: ptr.To[int32](2), Required: ptr.To(true), TopologyKey: corev1.LabelTopologyRegion,
		}
	})
	w.waitForReason(cluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	w.machineDeployment(4)
	keysOf := map[bool]map[string]int{false: {}, true: {}}
	for _, machine := range w.workers(1, 4) {
		inSouth := w.zoneOf(w.waitForProvisioned(machine)) == zoneName(3)
		keysOf[inSouth][machine.Labels[faultlinev1.DistributionKeyLabel]]++
	}
	w.Expect(keysOf[true]).To(HaveLen(1), "one logical domain is in the south")
	w.Expect(keysOf[false]).To(HaveLen(1), "the other is in the north: %v", keysOf)
	w.waitForReason(cluster, faultlinev1.WorkersBalancedCondition, faultlinev1.ReasonBalanced)
}

func TestRequiredLogicalFailureDomainsBecomePreferredWithSingleHost(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManager(t)
	for _, host := range []string{"1-1", "1-2", "2-1", "2-2"} {
		w.host(host, "zone-"+host[:1])
	}
	w.host("3-1", zoneName(3)) // in no failure domain of the cluster
	w.start()
	cluster := w.cluster("c", func(c *infrav1.HarvesterCluster) {
		c.Spec.FailureDomains = []infrav1.HarvesterFailureDomain{
			{Name: zoneName(1), TopologyKey: w.topologyKey()}, {Name: zoneName(2), TopologyKey: w.topologyKey()},
		}
		c.Spec.Distribution.Workers = faultlinev1.WorkersDistribution{
			Enabled: ptr.To(true), DesiredFailureDomains: ptr.To[int32](2), Required: ptr.To(true),
		}
	})
	w.machineDeployment(2)
	apart := func(machine *infrav1.HarvesterMachine) []corev1.PodAffinityTerm {
		w.waitForProvisioned(machine)
		vm := &kubevirtv1.VirtualMachine{}
		w.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(machine), vm)).To(Succeed())
		return vm.Spec.Template.Spec.Affinity.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	}
	w.Expect(apart(w.workers(1, 1)[0])).To(HaveLen(1))
	const taken = "treats spec.distribution.workers.required as a preference"
	w.Expect(w.waitForReason(cluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)).NotTo(ContainSubstring(taken))
	w.Expect(w.events("Softened")()).To(BeEmpty())

	host := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-2-2"}}
	updateOnHarvester(w, host, func(host *corev1.Node) { delete(host.Labels, w.topologyKey()) })
	w.Eventually(func() string {
		return w.waitForReason(cluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	}).Should(And(ContainSubstring(taken), ContainSubstring("zone-2: add a second host"), Not(ContainSubstring("zone-3: add"))))
	w.Expect(apart(w.workers(2, 2)[0])).To(BeEmpty())
	w.Eventually(w.events("Softened")).Should(ConsistOf(And(ContainSubstring(taken), ContainSubstring("zone-2"))))

	updateOnHarvester(w, host, func(host *corev1.Node) { host.Labels[w.topologyKey()] = zoneName(2) })
	w.Eventually(func() string {
		return w.waitForReason(cluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	}).ShouldNot(ContainSubstring(taken))
}

func TestFailureDomainFollowsMigrationAndHostLabel(t *testing.T) {
	sim.NeedsMigration(t)
	t.Parallel()
	w := newFixture(t, 2, 1)
	cluster := w.cluster("c")
	machine := w.machine("c", "m", "", func(_ *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
		infra.Spec.NodeAffinity = &corev1.NodeAffinity{RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{
			NodeSelectorTerms: []corev1.NodeSelectorTerm{{MatchExpressions: []corev1.NodeSelectorRequirement{
				{Key: w.topologyKey(), Operator: corev1.NodeSelectorOpExists},
			}}},
		}}
	})
	vmi := w.waitForProvisioned(machine)
	to := map[string]string{zoneName(1): "h-2-1", zoneName(2): "h-1-1"}[machine.Status.FailureDomain]
	w.Expect(to).NotTo(BeEmpty(), "%s", integration.Describe(cluster))
	w.Expect(sim.Migrate(t.Context(), client.ObjectKeyFromObject(vmi), w.name+"-"+to)).To(Succeed())
	before := machine.Status.FailureDomain
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.FailureDomain).NotTo(Or(BeEmpty(), Equal(before)))
	}).Should(Succeed())
	w.Expect(machine.Status.FailureDomain).To(Equal(w.zoneOf(w.instance(machine.Name))))

	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-" + to}}
	updateOnHarvester(w, node, func(node *corev1.Node) { node.Labels[w.topologyKey()] = "zone-9" })
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(machine), machine)).To(Succeed())
		g.Expect(machine.Status.FailureDomain).To(Equal("zone-9"), "and its host to another zone")
	}).Should(Succeed())
}

func TestUserAffinityIsCombinedWithFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManager(t)
	gpu := func(h *simulator.Host) { h.Labels["gpu"] = w.name }
	w.host("1-plain", zoneName(1))
	with := w.host("1-gpu", zoneName(1), gpu)
	w.host("2-gpu", zoneName(2), gpu)
	w.start()
	w.cluster("c")
	machine := w.machine("c", "m", zoneName(1), func(_ *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
		infra.Spec.NodeAffinity = requires("gpu", w.name)
	})
	w.Expect(w.waitForProvisioned(machine).Status.NodeName).To(Equal(with))
	w.Expect(machine.Spec.NodeAffinity).To(Equal(requires("gpu", w.name)))

	impossible := w.machine("c", "i", zoneName(1), func(_ *clusterv1.Machine, infra *infrav1.HarvesterMachine) {
		infra.Spec.NodeAffinity = requires("gpu", "none")
	})
	w.Expect(w.waitForReason(impossible, infrav1.MachineCreatedCondition, infrav1.AffinityImpossibleReason)).To(ContainSubstring("spec.nodeAffinity"))
}

func TestMachineStaysInSingleHostFailureDomain(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 2, 1)
	host := w.host("renamed", "", func(h *simulator.Host) { h.Hostname = w.name + "-old-name" })
	w.cluster("c")
	machine := w.machine("c", "m", host)
	w.Expect(w.waitForProvisioned(machine).Status.NodeName).To(Equal(host))
	w.Expect(machine.Status.FailureDomain).To(Equal(host))
	w.waitForReason(machine, infrav1.FailureDomainUnlistedCondition, infrav1.FailureDomainUnlistedReason)
}
