// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
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
)

// deleteHost deletes a host without its operator.
func (f *fixture) deleteHost(name string) *bmov1alpha1.BareMetalHost {
	f.t.Helper()
	host := f.host(name)
	update(f, host, func(host *bmov1alpha1.BareMetalHost) { host.Finalizers = nil })
	f.Expect(client.IgnoreNotFound(f.client.Delete(f.t.Context(), host.DeepCopy()))).To(Succeed())
	f.waitForDeletion(host.DeepCopy())
	return host
}

// setConsumer makes a machine the consumer of a host, as a user does who edits or restores it.
func (f *fixture) setConsumer(name, machine string) {
	f.t.Helper()
	update(f, f.host(name), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: f.name, Name: machine}
	})
}

func TestMachineOfDeletedHostGetsNoOther(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{
		"while it was provisioned": infrav1.Metal3MachineHostProvisioningReason,
		"before its Node joined":   infrav1.Metal3MachineWaitingForNodeReason,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newEmptyFixture(t)
			f.joins = func(*corev1.Node) bool { return false }
			f.hosts(simulator.Racks(1, 2))
			if reason == infrav1.Metal3MachineHostProvisioningReason {
				f.sim.Stick(bmov1alpha1.StateProvisioning, client.ObjectKey{Namespace: f.name, Name: rack1})
			}
			f.start()
			f.cluster("one", "rack-1")
			machine := f.machine("one", "cp-0", "rack-1")
			f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, reason)
			f.deleteHost(rack1)
			f.Expect(f.waitForReason(machine, infrav1.Metal3MachineHostNotFoundReason)).To(ContainSubstring(rack1))
			f.Expect(f.host(rack1Second).Spec.ConsumerRef).To(BeNil())
			f.deleteMachine(machine)
		})
	}
}

func TestReservationOfFilteredMachineIsReleased(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	filter := f.name
	f.hosts(simulator.Racks(1, 0))
	f.manage(filter)
	f.clusterWith("one", func(infra *infrav1.Metal3Cluster) { infra.Labels[clusterv1.WatchLabel] = filter }, "rack-1")
	ours := func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Labels[clusterv1.WatchLabel] = filter
	}
	first, second := f.machine("one", "a", "rack-1", ours), f.machine("one", "b", "rack-1", ours)
	f.waitForReason(first, infrav1.FailureDomainWithoutHostsReason)
	f.waitForReason(second, infrav1.FailureDomainWithoutHostsReason)
	update(f, first, func(machine *infrav1.Metal3Machine) { machine.Labels[clusterv1.WatchLabel] = "another" })
	f.hosts(simulator.Racks(1, 1))
	f.waitForReason(second, infrav1.Metal3MachineAssociateBareMetalHostSuccessReason)
}

func TestReservationIsReleasedWithCluster(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 0))
	f.cluster("one", "rack-1")
	f.cluster("two", "rack-1")
	first, second := f.machine("one", "a", "rack-1"), f.machine("two", "b", "rack-1")
	f.waitForReason(first, infrav1.FailureDomainWithoutHostsReason)
	f.waitForReason(second, infrav1.FailureDomainWithoutHostsReason)
	infra := &infrav1.Metal3Cluster{ObjectMeta: f.meta("one")}
	f.Expect(f.client.Delete(t.Context(), infra)).To(Succeed())
	f.Eventually(func() error {
		if err := f.client.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
			return client.IgnoreNotFound(err)
		}
		infra.Finalizers = nil
		return f.client.Update(t.Context(), infra)
	}).Should(Succeed())
	f.waitForDeletion(infra)
	f.hosts(simulator.Racks(1, 1))
	f.waitForProvisioned(second)
}

func TestMachineReportsSecondHost(t *testing.T) {
	t.Parallel()
	f := newEmptyFixture(t)
	f.hosts(simulator.Racks(1, 2))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.setIntendedHost(machine, rack1Second)
	f.setConsumer(rack1Second, "cp-0")
	f.start()
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal(rack1Second))
	f.setConsumer(rack1, "cp-0")
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineSeveralHostsCondition, infrav1.Metal3MachineSeveralHostsReason)).To(And(
		ContainSubstring("uses BareMetalHost "+rack1Second), ContainSubstring("but "+rack1)))
	for _, name := range []string{rack1, rack1Second, rack1} { // either may trigger the event
		update(f, f.host(name), func(host *bmov1alpha1.BareMetalHost) { host.Labels["event"] = host.ResourceVersion })
	}
	f.Consistently(func() string { return hostOf(f.get(machine).(*infrav1.Metal3Machine)) }).WithTimeout(time.Second).Should(Equal(rack1Second))
	f.Expect(f.host(rack1).Spec.Image).To(BeNil(), "nothing is written there")
	f.Expect(conditions.IsTrue(machine, infrav1.Metal3MachineReadyCondition)).To(BeTrue())

	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef = nil })
	f.Eventually(func() bool {
		f.get(machine)
		return conditions.Has(machine, infrav1.Metal3MachineSeveralHostsCondition)
	}).Should(BeFalse())
}

func TestRestoredHostIsFound(t *testing.T) {
	t.Parallel()
	f := newStaticFixture(t)
	f.hosts(simulator.Racks(1, 1))
	f.start()
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	host := f.deleteHost(rack1)
	update(f, machine, func(machine *infrav1.Metal3Machine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, "test/again", "1")
	})
	f.waitForReason(machine, infrav1.Metal3MachineHostNotFoundReason)
	host.ResourceVersion, host.UID = "", ""
	f.create(host)
	f.waitForReason(machine, infrav1.Metal3MachineAssociateBareMetalHostSuccessReason)
}

func TestDeletionReportsUnmanagedHost(t *testing.T) {
	t.Parallel()
	for _, key := range []string{bmov1alpha1.PausedAnnotation, bmov1alpha1.DetachedAnnotation} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			f := newFixture(t, simulator.Racks(1, 1))
			f.cluster("one", "rack-1")
			machine := f.machine("one", "cp-0", "rack-1")
			f.waitForProvisioned(machine)
			update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&host.ObjectMeta, key, "") })
			f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
			f.Eventually(func() string {
				return f.waitForCondition(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition, infrav1.Metal3MachineDeletingReason)
			}).Should(ContainSubstring("remove the annotation " + key))
			update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { delete(host.Annotations, key) })
			f.waitForDeletion(machine)
		})
	}
}
