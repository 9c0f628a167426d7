// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/testutil"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/testworld"
)

// domain returns the published failure domain.
func domain(infra *infrav1.Metal3Cluster, name string) clusterv1.FailureDomain {
	for _, domain := range infra.Status.FailureDomains {
		if domain.Name == name {
			return domain
		}
	}
	return clusterv1.FailureDomain{}
}

func TestClusterPublishesItsDomainsWithTheirCapacity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 3))
	infra := w.clusterWith("one", func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains[0].Attributes = map[string]string{"region": "north"}
		infra.Spec.FailureDomains[1].ControlPlane = nil
	}, "rack-1", "rack-2")
	w.provisioned(w.machine("one", "cp-0", "rack-1"))
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(ptr.Deref(infra.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", testworld.Describe(infra))
		g.Expect(domain(infra, "rack-1").Attributes).To(And(HaveKeyWithValue("region", "north"), HaveKeyWithValue("hosts", "3"), HaveKeyWithValue("freeHosts", "2"),
			HaveKeyWithValue("state", "Active")))
	}).Should(Succeed())
	w.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()))
	w.Expect(domain(infra, "rack-2").ControlPlane).To(HaveValue(BeFalse()), "nobody said that it takes control planes")
	w.Expect(infra.Status.Distribution.FailureDomains[0].Capacity).To(HaveValue(BeEquivalentTo(2)))
	w.condition(infra, clusterv1.ReadyCondition, clusterv1.ReadyReason)
}

func TestDomainsWithoutHostsAndWithBrokenOnesAreBadEachInItsWay(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(3, 2))
	infra := w.clusterWith("one", func(infra *infrav1.Metal3Cluster) {
		infra.Spec.Distribution = faultlinev1.Distribution{GracePeriodSeconds: ptr.To[int32](0)}
	}, "rack-1", "rack-2", "rack-3", "rack-9")
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()), "%s", testworld.Describe(infra))
		g.Expect(domain(infra, "rack-9").Attributes).To(HaveKeyWithValue("reason", infrav1.FailureDomainWithoutHostsReason))
	}).Should(Succeed())
	w.Expect(w.sim.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(domain(infra, "rack-1").Attributes).To(HaveKeyWithValue("reason", infrav1.FailureDomainHostsUnhealthyReason), "%s", testworld.Describe(infra))
		g.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeFalse()), "KCP puts no new machine there")
	}).Should(Succeed())
	w.Expect(testworld.Describe(infra)).To(ContainSubstring("failure domain rack-1: 2 hosts, 2 without power: repair the BareMetalHosts"))
	w.Expect(domain(infra, "rack-1").Attributes).To(HaveKeyWithValue("freeHosts", "0"))
	machine := w.machine("one", "cp-0", "rack-1")
	w.waits(machine, infrav1.FailureDomainHostsUnhealthyReason)
	w.Eventually(func() (int, error) {
		return testutil.GatherAndCount(w.metrics, "faultline_failure_domain_waiting_machines")
	}).Should(Equal(1))
}

func TestHostLabelThatIsNoDomainIsSaid(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 2))
	infra := w.cluster("one", "rack-1")
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(testworld.Describe(infra)).To(ContainSubstring("no failure domain of any Metal3Cluster of the namespace: rack-2 (2)"))
	}).Should(Succeed())
	w.cluster("two", "rack-2")
	update(w, infra, func(infra *infrav1.Metal3Cluster) { infra.Labels["again"] = "" })
	w.Eventually(func() string { return testworld.Describe(w.get(infra).(*infrav1.Metal3Cluster)) }).ShouldNot(ContainSubstring("rack-2"))
}

func TestClusterGoesAfterItsMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	infra := w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.Expect(w.condition(infra, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason)).
		To(ContainSubstring("Metal3Machine cp-0"))
	w.remove(machine)
	w.gone(infra)
}

func TestClusterManagedByOthersIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	managed := w.clusterWith("theirs", func(infra *infrav1.Metal3Cluster) {
		infra.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "somebody"}
	}, "rack-1")
	ours := w.cluster("ours", "rack-1")
	w.condition(ours, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	w.get(managed)
	w.Expect(managed.Status).To(BeZero())
	w.Expect(managed.Finalizers).To(BeEmpty())
}

func TestMachineIsKeptToADomainThatItsClusterDoesNotListAndSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	infra := w.cluster("one", "rack-1")
	first := w.machine("one", "first", "rack-2")
	w.Expect(w.provisioned(first).Name).To(Equal("rack-2-host-001"))
	w.Expect(w.condition(first, infrav1.Metal3MachineFailureDomainUnlistedCondition, infrav1.FailureDomainUnlistedReason)).
		To(ContainSubstring("rack-2, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster one"))
	w.condition(first, clusterv1.ReadyCondition, clusterv1.ReadyReason)

	second := w.machine("one", "second", "rack-2")
	w.waits(second, infrav1.NoCapacityReason)
	w.Expect(w.host("rack-1-host-001").Spec.ConsumerRef).To(BeNil(), "a host elsewhere is not taken")
	third := w.machine("one", "third", "rack-3")
	w.Expect(w.waits(third, infrav1.FailureDomainNotFoundReason)).To(ContainSubstring("no BareMetalHost of the namespace has the label"))
	w.hosts(simulator.Layout{Ready: true, Domains: []simulator.Domain{{Name: "rack-3", Hosts: 1}}})
	w.Expect(w.provisioned(third).Name).To(Equal("rack-3-host-001"), "a host with the label wakes the machine")

	update(w, infra, func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: "rack-2"}, clusterv1.FailureDomain{Name: "rack-3"})
	})
	for _, machine := range []*infrav1.Metal3Machine{first, second, third} {
		w.Eventually(func() bool {
			return conditions.Has(w.get(machine).(*infrav1.Metal3Machine), infrav1.Metal3MachineFailureDomainUnlistedCondition)
		}).Should(BeFalse(), "the cluster lists it now")
	}
}

func TestClusterWhoseHostsHaveNoLabelSaysWhichToGiveThemAndIsProvisionedThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Layout{Ready: true, Domains: []simulator.Domain{{Hosts: 2}}})
	infra := w.cluster("one", "rack-1", "rack-2")
	w.Expect(w.condition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, infrav1.Metal3ClusterFailureDomainsWithoutHostsReason)).
		To(ContainSubstring("label infrastructure.cluster.x-k8s.io/failure-domain with the name of its failure domain (rack-1, rack-2)"))
	w.Expect(ptr.Deref(infra.Status.Initialization.Provisioned, false)).To(BeFalse(), "no control plane may be created in no domain")
	w.condition(infra, clusterv1.ReadyCondition, clusterv1.NotReadyReason)
	host := w.host("host-001")
	update(w, host, func(host *bmov1alpha1.BareMetalHost) {
		metav1.SetMetaDataLabel(&host.ObjectMeta, infrav1.FailureDomainLabel, "rack-1")
	})
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(infra.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%s", testworld.Describe(infra))
	}).Should(Succeed())
	w.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()))
	w.condition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, infrav1.Metal3ClusterFailureDomainsNotActiveReason)
}

// Without failure domains Cluster API would create control plane machines that name none, and they would get hosts of any rack.
func TestLastDomainsStayPublishedWhenTheyAreRemoved(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 2))
	infra := w.cluster("one", "rack-1", "rack-2")
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()))
		g.Expect(domain(infra, "rack-2").ControlPlane).To(HaveValue(BeTrue()))
	}).Should(Succeed())
	update(w, infra, func(infra *infrav1.Metal3Cluster) { infra.Spec.FailureDomains = nil })
	w.condition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, infrav1.Metal3ClusterLastControlPlaneDomainReason)
	w.Expect(infra.Status.FailureDomains).To(HaveLen(2))
	w.Expect(infra.Status.Distribution.FailureDomains[1].State).To(Equal(faultlinev1.DomainCordoned))

	nowhere := w.machine("one", "nowhere", "", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	})
	w.waits(nowhere, infrav1.FailureDomainNotNamedReason)
	w.provisioned(w.machine("one", "worker", ""))
	update(w, infra, func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "rack-2", ControlPlane: ptr.To(true)}}
	})
	update(w, &clusterv1.Machine{ObjectMeta: w.meta("nowhere")}, func(m *clusterv1.Machine) { m.Spec.FailureDomain = "rack-2" })
	w.provisioned(nowhere)
}
