// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"fmt"
	"testing"
	"time"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestMachineBecomesANodeInItsDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 2))
	f.cluster("one", "rack-1", "rack-2", "rack-3")
	machine := f.machine("one", "cp-0", "rack-2")
	host := f.waitForProvisioned(machine)
	f.Expect(host.Name).To(Equal("rack-2-host-001"), "the first by name in the domain")
	f.Expect(host.Spec.ConsumerRef).To(HaveValue(Equal(corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: f.name, Name: "cp-0",
	})))
	f.Expect(host.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))
	f.Expect(host.OwnerReferences).To(BeEmpty(), "the host outlives its machine, however that is deleted")
	f.Expect(host.Annotations).To(HaveKey("clusterctl.cluster.x-k8s.io/block-move"))
	f.Expect(host.Spec.UserData).To(HaveValue(Equal(corev1.SecretReference{Namespace: f.name, Name: "cp-0"})))
	f.Expect(host.Spec.Online).To(BeTrue())
	f.Expect(machine.Spec.ProviderID).To(Equal("metal3://" + f.name + "/rack-2-host-001/cp-0"))
	f.Expect(machine.Spec.FailureDomain).To(Equal("rack-2"))
	f.Expect(machine.Status.FailureDomain).To(Equal("rack-2"))
	f.Expect(machine.Status.Addresses).NotTo(BeEmpty())
	f.waitForCondition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: f.name + "-cp-0"}}
	f.get(node)
	f.Expect(node.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
}

func TestAssignedDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	infra := f.cluster("one", "rack-1", "rack-2")
	update(f, infra, func(infra *infrav1.Metal3Cluster) { cordon(infra, "rack-2") })
	machine := f.machine("one", "worker", "", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: "rack-2"}
	})
	f.waitForReason(machine, infrav1.FailureDomainNotReadyReason)
	f.Expect(f.host("rack-1-host-001").Spec.ConsumerRef).To(BeNil(), "a host elsewhere is not taken")
	update(f, infra, func(infra *infrav1.Metal3Cluster) { infra.Spec.Distribution.FailureDomains = nil })
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal("rack-2-host-001"))
	f.Expect(machine.Spec.FailureDomain).To(Equal("rack-2"))
	f.Expect(machine.Status.FailureDomain).To(Equal("rack-2"))
}

func TestReleasedHostEnqueuesWaitingMachine(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	f.cluster("one", "rack-1", "rack-2")
	first := f.machine("one", "first", "rack-1")
	f.waitForProvisioned(first)
	second := f.machine("one", "second", "rack-1")
	f.Expect(f.waitForReason(second, infrav1.NoCapacityReason)).To(HavePrefix("failure domain rack-1: 1 host, 1 in use:"))
	f.Expect(f.host("rack-2-host-001").Spec.ConsumerRef).To(BeNil(), "a host elsewhere is not taken")
	f.deleteMachine(first)
	f.Expect(f.waitForProvisioned(second).Name).To(Equal("rack-1-host-001"))
}

func TestOldestMachineIsServedFirst(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 0))
	f.cluster("one", "rack-1")
	var machines []*infrav1.Metal3Machine
	for _, name := range []string{"b", "a"} {
		machine := f.machine("one", name, "rack-1")
		f.waitForReason(machine, infrav1.FailureDomainWithoutHostsReason)
		machines = append(machines, machine)
	}
	// Creation timestamps have a resolution of one second; for equal ones the name decides.
	slowest := machines[0]
	if machines[0].CreationTimestamp.Equal(&machines[1].CreationTimestamp) {
		slowest = machines[1]
	}
	f.hosts(simulator.Racks(1, 1))
	f.waitForProvisioned(slowest)
}

func TestWaitDistinguishesBrokenFromBusyHosts(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	f.cluster("one", "rack-1", "rack-2")
	f.Expect(f.sim.FailPower(t.Context(), "rack-1")).To(Succeed())
	f.Eventually(func() string { return f.host("rack-1-host-001").Status.ErrorMessage }).ShouldNot(BeEmpty())
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForReason(machine, infrav1.FailureDomainHostsUnhealthyReason)).To(ContainSubstring("1 host, 1 in error"))
	f.Expect(f.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	f.waitForProvisioned(machine)
}

func TestHostWithoutPowerIsNotClaimed(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	f.cluster("one", "rack-1", "rack-2")
	f.losePower("rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForReason(machine, infrav1.FailureDomainHostsUnhealthyReason)).To(ContainSubstring("1 host, 1 without power"))
	f.Expect(f.host(rack1).Spec.ConsumerRef).To(BeNil())
	f.Expect(f.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	f.waitForProvisioned(machine)
}

func TestWaitIsReportedOnce(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 3))
	f.cluster("one", "rack-1")
	waiting := f.machine("one", "waiting", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.HostSelector.MatchLabels = map[string]string{"size": "huge"}
	})
	f.Expect(f.waitForReason(waiting, infrav1.NoCapacityReason)).To(ContainSubstring("3 not matching spec.hostSelector"))
	// The machine's own first writes enqueue it once more. Their events precede the next machine, which is provisioned long
	// afterwards.
	f.waitForProvisioned(f.machine("one", "a", "rack-1"))
	f.get(waiting)
	version := waiting.ResourceVersion
	for _, name := range []string{"b", "c"} {
		f.waitForProvisioned(f.machine("one", name, "rack-1"))
	}
	f.Consistently(func() string {
		f.get(waiting)
		return waiting.ResourceVersion
	}).WithTimeout(time.Second).Should(Equal(version), "claims of other hosts do not change its message")
	for i := range 3 {
		update(f, f.host(fmt.Sprintf("rack-1-host-%03d", i+1)), func(host *bmov1alpha1.BareMetalHost) {
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.UnhealthyAnnotation, "")
		})
	}
	f.Expect(f.waitForReason(waiting, infrav1.FailureDomainHostsUnhealthyReason)).To(ContainSubstring("3 marked unhealthy"))
}

func preferred(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
	metal3.Spec.FailureDomainPolicy = infrav1.FailureDomainPreferred
}

func TestPreferredDomain(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	f.cluster("one", "rack-1", "rack-2")
	first, second := f.machine("one", "first", "rack-1", preferred), (*infrav1.Metal3Machine)(nil)
	f.Expect(f.waitForProvisioned(first).Name).To(Equal("rack-1-host-001"))
	second = f.machine("one", "second", "rack-1", preferred)
	f.Expect(f.waitForProvisioned(second).Name).To(Equal("rack-2-host-001"))
	f.Expect(second.Spec.FailureDomain).To(Equal("rack-1"), "what was asked for stays")
	f.Expect(second.Status.FailureDomain).To(Equal("rack-2"), "where it is, is shown")
}

func TestMachineWithoutDomain(t *testing.T) {
	t.Parallel()
	layout := simulator.Racks(3, 1)
	layout.Domains[2].Labels = map[string]string{"size": "large"}
	f := newFixture(t, layout)
	f.cluster("one")
	machine := f.machine("one", "worker", "", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.HostSelector.MatchExpressions = []infrav1.HostSelectorRequirement{{Key: "size", Operator: "In", Values: []string{"large"}}}
	})
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal("rack-3-host-001"))
	other := f.machine("one", "other", "", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.HostSelector.MatchLabels = map[string]string{"size": "huge"}
	})
	f.Expect(f.waitForReason(other, infrav1.NoCapacityReason)).To(ContainSubstring("2 not matching spec.hostSelector"))
	host := f.host("rack-1-host-001")
	update(f, host, func(host *bmov1alpha1.BareMetalHost) { host.Labels["size"] = "huge" })
	f.Expect(f.waitForProvisioned(other).Name).To(Equal("rack-1-host-001"), "a new label of a host enqueues it")
}

func cordon(infra *infrav1.Metal3Cluster, domain string) {
	infra.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: domain, State: faultlinev1.DomainCordoned}}
}

func TestCordonedDomainReceivesNoMachines(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(2, 1))
	infra := f.clusterWith("one", func(infra *infrav1.Metal3Cluster) { cordon(infra, "rack-1") }, "rack-1", "rack-2")
	named, anywhere := f.machine("one", "named", "rack-1"), f.machine("one", "anywhere", "")
	f.waitForReason(named, "FailureDomainNotReady")
	f.Expect(f.waitForProvisioned(anywhere).Name).To(Equal("rack-2-host-001"))
	update(f, infra, func(infra *infrav1.Metal3Cluster) { infra.Spec.Distribution.FailureDomains = nil })
	f.Expect(f.waitForProvisioned(named).Name).To(Equal("rack-1-host-001"))
}

func TestHostOfAnotherConsumerIsNotClaimed(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	layout := simulator.Racks(1, 1)
	theirs := &corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "Server", Namespace: f.name, Name: "theirs"}
	layout.Change = func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef = theirs }
	f.hosts(layout)
	f.start()
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForReason(machine, infrav1.NoCapacityReason)
	f.Expect(machine.Annotations).NotTo(HaveKey(infrav1.HostAnnotation))
	before := f.host("rack-1-host-001")
	f.deleteMachine(machine)
	after := f.host("rack-1-host-001")
	f.Expect(after.Spec).To(Equal(before.Spec))
	f.Expect(after.OwnerReferences).To(BeEmpty())
}

func TestWaitingMachineIsNotReady(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.sim.Stick(bmov1alpha1.StateProvisioning, client.ObjectKeyFromObject(f.host("rack-1-host-001")))
	f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	f.Expect(conditions.IsTrue(machine, clusterv1.ReadyCondition)).To(BeFalse())
}
