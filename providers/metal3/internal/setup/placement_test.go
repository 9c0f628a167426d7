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
	w := newWorld(t, simulator.Racks(3, 2))
	w.cluster("one", "rack-1", "rack-2", "rack-3")
	machine := w.machine("one", "cp-0", "rack-2")
	host := w.provisioned(machine)
	w.Expect(host.Name).To(Equal("rack-2-host-001"), "the first by name in the domain")
	w.Expect(host.Spec.ConsumerRef).To(HaveValue(Equal(corev1.ObjectReference{
		APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.name, Name: "cp-0",
	})))
	w.Expect(host.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "one"))
	w.Expect(host.OwnerReferences).To(BeEmpty(), "the host outlives its machine, however that is deleted")
	w.Expect(host.Annotations).To(HaveKey("clusterctl.cluster.x-k8s.io/block-move"))
	w.Expect(host.Spec.UserData).To(HaveValue(Equal(corev1.SecretReference{Namespace: w.name, Name: "cp-0"})))
	w.Expect(host.Spec.Online).To(BeTrue())
	w.Expect(machine.Spec.ProviderID).To(Equal("metal3://" + w.name + "/rack-2-host-001/cp-0"))
	w.Expect(machine.Spec.FailureDomain).To(Equal("rack-2"))
	w.Expect(machine.Status.FailureDomain).To(Equal("rack-2"))
	w.Expect(machine.Status.Addresses).NotTo(BeEmpty())
	w.condition(machine, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: w.name + "-cp-0"}}
	w.get(node)
	w.Expect(node.Spec.ProviderID).To(Equal(machine.Spec.ProviderID))
}

func TestMachineThatWasAssignedADomainIsKeptToItAsIfItsMachineNamedIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	infra := w.cluster("one", "rack-1", "rack-2")
	update(w, infra, func(infra *infrav1.Metal3Cluster) { cordon(infra, "rack-2") })
	machine := w.machine("one", "worker", "", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Annotations = map[string]string{faultlinev1.AssignedFailureDomainAnnotation: "rack-2"}
	})
	w.waits(machine, infrav1.FailureDomainNotReadyReason)
	w.Expect(w.host("rack-1-host-001").Spec.ConsumerRef).To(BeNil(), "a host elsewhere is not taken")
	update(w, infra, func(infra *infrav1.Metal3Cluster) { infra.Spec.Distribution.FailureDomains = nil })
	w.Expect(w.provisioned(machine).Name).To(Equal("rack-2-host-001"))
	w.Expect(machine.Spec.FailureDomain).To(Equal("rack-2"))
	w.Expect(machine.Status.FailureDomain).To(Equal("rack-2"))
}

func TestMachineWaitsForItsDomainAndIsWokenByAFreedHost(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	w.cluster("one", "rack-1", "rack-2")
	first := w.machine("one", "first", "rack-1")
	w.provisioned(first)
	second := w.machine("one", "second", "rack-1")
	w.Expect(w.waits(second, infrav1.NoCapacityReason)).To(HavePrefix("failure domain rack-1: 1 host, 1 in use:"))
	w.Expect(w.host("rack-2-host-001").Spec.ConsumerRef).To(BeNil(), "a host elsewhere is not taken")
	w.remove(first)
	w.Expect(w.provisioned(second).Name).To(Equal("rack-1-host-001"))
}

func TestMachinesAreServedInTheOrderTheyCame(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 0))
	w.cluster("one", "rack-1")
	var machines []*infrav1.Metal3Machine
	for _, name := range []string{"b", "a"} {
		machine := w.machine("one", name, "rack-1")
		w.waits(machine, infrav1.FailureDomainWithoutHostsReason)
		machines = append(machines, machine)
	}
	// Creation timestamps have a resolution of one second; for equal ones the name decides.
	slowest := machines[0]
	if machines[0].CreationTimestamp.Equal(&machines[1].CreationTimestamp) {
		slowest = machines[1]
	}
	w.hosts(simulator.Racks(1, 1))
	w.provisioned(slowest)
}

func TestBrokenHostsAreToldFromBusyOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	w.cluster("one", "rack-1", "rack-2")
	w.Expect(w.sim.FailPower(t.Context(), "rack-1")).To(Succeed())
	w.Eventually(func() string { return w.host("rack-1-host-001").Status.ErrorMessage }).ShouldNot(BeEmpty())
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.waits(machine, infrav1.FailureDomainHostsUnhealthyReason)).To(ContainSubstring("1 host, 1 in error"))
	w.Expect(w.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	w.provisioned(machine)
}

func TestHostWithoutPowerIsGivenToNoMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	w.cluster("one", "rack-1", "rack-2")
	w.losePower("rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.waits(machine, infrav1.FailureDomainHostsUnhealthyReason)).To(ContainSubstring("1 host, 1 without power"))
	w.Expect(w.host(rack1).Spec.ConsumerRef).To(BeNil())
	w.Expect(w.sim.RestoreDomain(t.Context(), "rack-1")).To(Succeed())
	w.provisioned(machine)
}

func TestMachineThatWaitsIsToldOnceWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 3))
	w.cluster("one", "rack-1")
	waiting := w.machine("one", "waiting", "rack-1", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.HostSelector.MatchLabels = map[string]string{"size": "huge"}
	})
	w.Expect(w.waits(waiting, infrav1.NoCapacityReason)).To(ContainSubstring("3 not matching spec.hostSelector"))
	// The machine's own first writes enqueue it once more. Their events precede the next machine, which is provisioned long
	// afterwards.
	w.provisioned(w.machine("one", "a", "rack-1"))
	w.get(waiting)
	version := waiting.ResourceVersion
	for _, name := range []string{"b", "c"} {
		w.provisioned(w.machine("one", name, "rack-1"))
	}
	w.Consistently(func() string {
		w.get(waiting)
		return waiting.ResourceVersion
	}).WithTimeout(time.Second).Should(Equal(version), "whose turn it is with the other hosts is nothing new to it")
	for i := range 3 {
		update(w, w.host(fmt.Sprintf("rack-1-host-%03d", i+1)), func(host *bmov1alpha1.BareMetalHost) {
			metav1.SetMetaDataAnnotation(&host.ObjectMeta, infrav1.UnhealthyAnnotation, "")
		})
	}
	w.Expect(w.waits(waiting, infrav1.FailureDomainHostsUnhealthyReason)).To(ContainSubstring("3 marked unhealthy"))
}

func preferred(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
	metal3.Spec.FailureDomainPolicy = infrav1.FailureDomainPreferred
}

func TestPreferredDomainIsLeftWhenItIsFull(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	w.cluster("one", "rack-1", "rack-2")
	first, second := w.machine("one", "first", "rack-1", preferred), (*infrav1.Metal3Machine)(nil)
	w.Expect(w.provisioned(first).Name).To(Equal("rack-1-host-001"))
	second = w.machine("one", "second", "rack-1", preferred)
	w.Expect(w.provisioned(second).Name).To(Equal("rack-2-host-001"))
	w.Expect(second.Spec.FailureDomain).To(Equal("rack-1"), "what was asked for stays")
	w.Expect(second.Status.FailureDomain).To(Equal("rack-2"), "where it is, is shown")
}

func TestWithoutADomainAnySelectedHostWillDo(t *testing.T) {
	t.Parallel()
	layout := simulator.Racks(3, 1)
	layout.Domains[2].Labels = map[string]string{"size": "large"}
	w := newWorld(t, layout)
	w.cluster("one")
	machine := w.machine("one", "worker", "", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.HostSelector.MatchExpressions = []infrav1.HostSelectorRequirement{{Key: "size", Operator: "In", Values: []string{"large"}}}
	})
	w.Expect(w.provisioned(machine).Name).To(Equal("rack-3-host-001"))
	other := w.machine("one", "other", "", func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Spec.HostSelector.MatchLabels = map[string]string{"size": "huge"}
	})
	w.Expect(w.waits(other, infrav1.NoCapacityReason)).To(ContainSubstring("2 not matching spec.hostSelector"))
	host := w.host("rack-1-host-001")
	update(w, host, func(host *bmov1alpha1.BareMetalHost) { host.Labels["size"] = "huge" })
	w.Expect(w.provisioned(other).Name).To(Equal("rack-1-host-001"), "a label that is put on a host wakes it")
}

func cordon(infra *infrav1.Metal3Cluster, domain string) {
	infra.Spec.Distribution.FailureDomains = []faultlinev1.FailureDomainIntent{{Name: domain, State: faultlinev1.DomainCordoned}}
}

func TestCordonedDomainReceivesNoMachines(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(2, 1))
	infra := w.clusterWith("one", func(infra *infrav1.Metal3Cluster) { cordon(infra, "rack-1") }, "rack-1", "rack-2")
	named, anywhere := w.machine("one", "named", "rack-1"), w.machine("one", "anywhere", "")
	w.waits(named, "FailureDomainNotReady")
	w.Expect(w.provisioned(anywhere).Name).To(Equal("rack-2-host-001"))
	update(w, infra, func(infra *infrav1.Metal3Cluster) { infra.Spec.Distribution.FailureDomains = nil })
	w.Expect(w.provisioned(named).Name).To(Equal("rack-1-host-001"))
}

func TestHostOfAnotherConsumerIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	layout := simulator.Racks(1, 1)
	theirs := &corev1.ObjectReference{APIVersion: "example.com/v1", Kind: "Server", Namespace: w.name, Name: "theirs"}
	layout.Change = func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef = theirs }
	w.hosts(layout)
	w.start()
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.waits(machine, infrav1.NoCapacityReason)
	w.Expect(machine.Annotations).NotTo(HaveKey(infrav1.HostAnnotation))
	before := w.host("rack-1-host-001")
	w.remove(machine)
	after := w.host("rack-1-host-001")
	w.Expect(after.Spec).To(Equal(before.Spec))
	w.Expect(after.OwnerReferences).To(BeEmpty())
}

func TestWaitIsSummedUpAsNotReady(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.sim.Stick(bmov1alpha1.StateProvisioning, client.ObjectKeyFromObject(w.host("rack-1-host-001")))
	w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	w.Expect(conditions.IsTrue(machine, clusterv1.ReadyCondition)).To(BeFalse())
}
