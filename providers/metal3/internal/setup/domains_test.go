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
	"github.com/faultline-io/faultline/shared/integration"
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

func TestPublishedDomains(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 3))
	infra := f.clusterWith("one", func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains[0].Attributes = map[string]string{"region": "north"}
		infra.Spec.FailureDomains[1].ControlPlane = nil
	}, "rack-1", "rack-2")
	f.waitForProvisioned(f.machine("one", "cp-0", "rack-1"))
	f.Eventually(func(g Gomega) {
		f.get(infra)
		g.Expect(ptr.Deref(infra.Status.Initialization.Provisioned, false)).To(BeTrue(), "%s", integration.Describe(infra))
		g.Expect(domain(infra, "rack-1").Attributes).To(And(HaveKeyWithValue("region", "north"), HaveKeyWithValue("hosts", "3"), HaveKeyWithValue("freeHosts", "2"),
			HaveKeyWithValue("state", "Active")))
	}).Should(Succeed())
	f.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()))
	f.Expect(domain(infra, "rack-2").ControlPlane).To(HaveValue(BeFalse()), "it was not declared for control planes")
	f.Expect(infra.Status.Distribution.FailureDomains[0].Capacity).To(HaveValue(BeEquivalentTo(2)))
	f.waitForCondition(infra, clusterv1.ReadyCondition, clusterv1.ReadyReason)
}

func TestUnhealthyDomains(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 2))
	infra := f.clusterWith("one", func(infra *infrav1.Metal3Cluster) {
		infra.Spec.Distribution = faultlinev1.Distribution{GracePeriodSeconds: ptr.To[int32](0)}
	}, "rack-1", "rack-2", "rack-3", "rack-9")
	f.Eventually(func(g Gomega) {
		f.get(infra)
		g.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()), "%s", integration.Describe(infra))
		g.Expect(domain(infra, "rack-9").Attributes).To(HaveKeyWithValue("reason", infrav1.FailureDomainWithoutHostsReason))
	}).Should(Succeed())
	f.Expect(f.sim.LoseDomain(t.Context(), "rack-1")).To(Succeed())
	f.Eventually(func(g Gomega) {
		f.get(infra)
		g.Expect(domain(infra, "rack-1").Attributes).To(HaveKeyWithValue("reason", infrav1.FailureDomainHostsUnhealthyReason), "%s", integration.Describe(infra))
		g.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeFalse()), "KCP puts no new machine there")
	}).Should(Succeed())
	f.Expect(integration.Describe(infra)).To(ContainSubstring("failure domain rack-1: 2 hosts, 2 without power: repair the BareMetalHosts"))
	f.Expect(domain(infra, "rack-1").Attributes).To(HaveKeyWithValue("freeHosts", "0"))
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForReason(machine, infrav1.FailureDomainHostsUnhealthyReason)
	f.Eventually(func() (int, error) {
		return testutil.GatherAndCount(f.metrics, "faultline_failure_domain_waiting_machines")
	}).Should(Equal(1))
}

func TestUndeclaredDomainLabelIsReported(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 2))
	infra := f.cluster("one", "rack-1")
	f.Eventually(func(g Gomega) {
		f.get(infra)
		g.Expect(integration.Describe(infra)).To(ContainSubstring("not a failure domain of any Metal3Cluster of the namespace: rack-2 (2)"))
	}).Should(Succeed())
	f.cluster("two", "rack-2")
	update(f, infra, func(infra *infrav1.Metal3Cluster) { infra.Labels["again"] = "" })
	f.Eventually(func() string { return integration.Describe(f.get(infra).(*infrav1.Metal3Cluster)) }).ShouldNot(ContainSubstring("rack-2"))
}

func TestClusterIsDeletedAfterItsMachines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	infra := f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.Expect(f.client.Delete(t.Context(), infra)).To(Succeed())
	f.Expect(f.waitForCondition(infra, infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, infrav1.Metal3ClusterWaitingForMachinesReason)).
		To(ContainSubstring("Metal3Machine cp-0"))
	f.deleteMachine(machine)
	f.waitForDeletion(infra)
}

func TestExternallyManagedClusterIsIgnored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	managed := f.clusterWith("theirs", func(infra *infrav1.Metal3Cluster) {
		infra.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "somebody"}
	}, "rack-1")
	ours := f.cluster("ours", "rack-1")
	f.waitForCondition(ours, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	f.get(managed)
	f.Expect(managed.Status).To(BeZero())
	f.Expect(managed.Finalizers).To(BeEmpty())
}

func TestMachineInUnlistedDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	infra := f.cluster("one", "rack-1")
	first := f.machine("one", "first", "rack-2")
	f.Expect(f.waitForProvisioned(first).Name).To(Equal("rack-2-host-001"))
	f.Expect(f.waitForCondition(first, infrav1.Metal3MachineFailureDomainUnlistedCondition, infrav1.FailureDomainUnlistedReason)).
		To(ContainSubstring("rack-2, named by Machine.spec.failureDomain, is not in spec.failureDomains of Metal3Cluster one"))
	f.waitForCondition(first, clusterv1.ReadyCondition, clusterv1.ReadyReason)

	second := f.machine("one", "second", "rack-2")
	f.waitForReason(second, infrav1.NoCapacityReason)
	f.Expect(f.host("rack-1-host-001").Spec.ConsumerRef).To(BeNil(), "a host elsewhere is not taken")
	third := f.machine("one", "third", "rack-3")
	f.Expect(f.waitForReason(third, infrav1.FailureDomainNotFoundReason)).To(ContainSubstring("no BareMetalHost of the namespace has the label"))
	f.hosts(simulator.Layout{Ready: true, Domains: []simulator.Domain{{Name: "rack-3", Hosts: 1}}})
	f.Expect(f.waitForProvisioned(third).Name).To(Equal("rack-3-host-001"), "a host with the label enqueues the machine")

	update(f, infra, func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: "rack-2"}, clusterv1.FailureDomain{Name: "rack-3"})
	})
	for _, machine := range []*infrav1.Metal3Machine{first, second, third} {
		f.Eventually(func() bool {
			return conditions.Has(f.get(machine).(*infrav1.Metal3Machine), infrav1.Metal3MachineFailureDomainUnlistedCondition)
		}).Should(BeFalse(), "the cluster lists it now")
	}
}

func TestClusterReportsUnlabelledHosts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Layout{Ready: true, Domains: []simulator.Domain{{Hosts: 2}}})
	infra := f.cluster("one", "rack-1", "rack-2")
	f.Expect(f.waitForCondition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, infrav1.Metal3ClusterFailureDomainsWithoutHostsReason)).
		To(ContainSubstring("label infrastructure.cluster.x-k8s.io/failure-domain with the name of its failure domain (rack-1, rack-2)"))
	f.Expect(ptr.Deref(infra.Status.Initialization.Provisioned, false)).To(BeFalse(), "no control plane may be created in no domain")
	f.waitForCondition(infra, clusterv1.ReadyCondition, clusterv1.NotReadyReason)
	host := f.host("host-001")
	update(f, host, func(host *bmov1alpha1.BareMetalHost) {
		metav1.SetMetaDataLabel(&host.ObjectMeta, infrav1.FailureDomainLabel, "rack-1")
	})
	f.Eventually(func(g Gomega) {
		f.get(infra)
		g.Expect(infra.Status.Initialization.Provisioned).To(HaveValue(BeTrue()), "%s", integration.Describe(infra))
	}).Should(Succeed())
	f.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()))
	f.waitForCondition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, infrav1.Metal3ClusterFailureDomainsNotActiveReason)
}

// Without failure domains Cluster API would create control plane machines that name none, and they would get hosts of any rack.
func TestLastDomainsStayPublished(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 2))
	infra := f.cluster("one", "rack-1", "rack-2")
	f.Eventually(func(g Gomega) {
		f.get(infra)
		g.Expect(domain(infra, "rack-1").ControlPlane).To(HaveValue(BeTrue()))
		g.Expect(domain(infra, "rack-2").ControlPlane).To(HaveValue(BeTrue()))
	}).Should(Succeed())
	update(f, infra, func(infra *infrav1.Metal3Cluster) { infra.Spec.FailureDomains = nil })
	f.waitForCondition(infra, infrav1.Metal3ClusterFailureDomainsReadyCondition, infrav1.Metal3ClusterLastControlPlaneDomainReason)
	f.Expect(infra.Status.FailureDomains).To(HaveLen(2))
	f.Expect(infra.Status.Distribution.FailureDomains[1].State).To(Equal(faultlinev1.DomainCordoned))

	nowhere := f.machine("one", "nowhere", "", func(machine *clusterv1.Machine, _ *infrav1.Metal3Machine) {
		machine.Labels[clusterv1.MachineControlPlaneLabel] = ""
	})
	f.waitForReason(nowhere, infrav1.FailureDomainNotNamedReason)
	f.waitForProvisioned(f.machine("one", "worker", ""))
	update(f, infra, func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains = []clusterv1.FailureDomain{{Name: "rack-2", ControlPlane: ptr.To(true)}}
	})
	update(f, &clusterv1.Machine{ObjectMeta: f.meta("nowhere")}, func(m *clusterv1.Machine) { m.Spec.FailureDomain = "rack-2" })
	f.waitForProvisioned(nowhere)
}
