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

// lose deletes a host without its operator.
func (w *world) lose(name string) *bmov1alpha1.BareMetalHost {
	w.t.Helper()
	host := w.host(name)
	update(w, host, func(host *bmov1alpha1.BareMetalHost) { host.Finalizers = nil })
	w.Expect(client.IgnoreNotFound(w.client.Delete(w.t.Context(), host.DeepCopy()))).To(Succeed())
	w.gone(host.DeepCopy())
	return host
}

// consume makes a machine the consumer of a host, as a user does who edits or restores it.
func (w *world) consume(name, machine string) {
	w.t.Helper()
	update(w, w.host(name), func(host *bmov1alpha1.BareMetalHost) {
		host.Spec.ConsumerRef = &corev1.ObjectReference{APIVersion: infrav1.GroupVersion.String(), Kind: "Metal3Machine", Namespace: w.name, Name: machine}
	})
}

func TestMachineThatMayRunOnAHostThatIsGoneGetsNoOther(t *testing.T) {
	t.Parallel()
	for name, reason := range map[string]string{
		"while it was provisioned": infrav1.Metal3MachineHostProvisioningReason,
		"before its Node joined":   infrav1.Metal3MachineWaitingForNodeReason,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyWorld(t)
			w.joins = func(*corev1.Node) bool { return false }
			w.hosts(simulator.Racks(1, 2))
			if reason == infrav1.Metal3MachineHostProvisioningReason {
				w.sim.Stick(bmov1alpha1.StateProvisioning, client.ObjectKey{Namespace: w.name, Name: rack1})
			}
			w.start()
			w.cluster("one", "rack-1")
			machine := w.machine("one", "cp-0", "rack-1")
			w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, reason)
			w.lose(rack1)
			w.Expect(w.waits(machine, infrav1.Metal3MachineHostNotFoundReason)).To(ContainSubstring(rack1))
			w.Expect(w.host(rack1Second).Spec.ConsumerRef).To(BeNil())
			w.remove(machine)
		})
	}
}

func TestHostPromisedToAMachineThatBecameAnotherManagersGoesToTheNext(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	filter := w.name
	w.hosts(simulator.Racks(1, 0))
	w.manage(filter)
	w.clusterWith("one", func(infra *infrav1.Metal3Cluster) { infra.Labels[clusterv1.WatchLabel] = filter }, "rack-1")
	ours := func(_ *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
		metal3.Labels[clusterv1.WatchLabel] = filter
	}
	first, second := w.machine("one", "a", "rack-1", ours), w.machine("one", "b", "rack-1", ours)
	w.waits(first, infrav1.FailureDomainWithoutHostsReason)
	w.waits(second, infrav1.FailureDomainWithoutHostsReason)
	update(w, first, func(machine *infrav1.Metal3Machine) { machine.Labels[clusterv1.WatchLabel] = "another" })
	w.hosts(simulator.Racks(1, 1))
	w.waits(second, infrav1.Metal3MachineAssociateBareMetalHostSuccessReason)
}

func TestHostPromisedToAMachineWhoseClusterIsGoneGoesToTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 0))
	w.cluster("one", "rack-1")
	w.cluster("two", "rack-1")
	first, second := w.machine("one", "a", "rack-1"), w.machine("two", "b", "rack-1")
	w.waits(first, infrav1.FailureDomainWithoutHostsReason)
	w.waits(second, infrav1.FailureDomainWithoutHostsReason)
	infra := &infrav1.Metal3Cluster{ObjectMeta: w.meta("one")}
	w.Expect(w.client.Delete(t.Context(), infra)).To(Succeed())
	w.Eventually(func() error {
		if err := w.client.Get(t.Context(), client.ObjectKeyFromObject(infra), infra); err != nil {
			return client.IgnoreNotFound(err)
		}
		infra.Finalizers = nil
		return w.client.Update(t.Context(), infra)
	}).Should(Succeed())
	w.gone(infra)
	w.hosts(simulator.Racks(1, 1))
	w.provisioned(second)
}

func TestMachineKeepsToOneOfTwoHostsThatNameItAndSaysSo(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.hosts(simulator.Racks(1, 2))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.intends(machine, rack1Second)
	w.consume(rack1Second, "cp-0")
	w.start()
	w.Expect(w.provisioned(machine).Name).To(Equal(rack1Second))
	w.consume(rack1, "cp-0")
	w.Expect(w.condition(machine, infrav1.Metal3MachineSeveralHostsCondition, infrav1.Metal3MachineSeveralHostsReason)).To(And(
		ContainSubstring("has BareMetalHost "+rack1Second), ContainSubstring("but "+rack1)))
	for _, name := range []string{rack1, rack1Second, rack1} { // either may trigger the event
		update(w, w.host(name), func(host *bmov1alpha1.BareMetalHost) { host.Labels["event"] = host.ResourceVersion })
	}
	w.Consistently(func() string { return hostOf(w.get(machine).(*infrav1.Metal3Machine)) }).WithTimeout(time.Second).Should(Equal(rack1Second))
	w.Expect(w.host(rack1).Spec.Image).To(BeNil(), "nothing is written there")
	w.Expect(conditions.IsTrue(machine, infrav1.Metal3MachineReadyCondition)).To(BeTrue())

	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { host.Spec.ConsumerRef = nil })
	w.Eventually(func() bool {
		w.get(machine)
		return conditions.Has(machine, infrav1.Metal3MachineSeveralHostsCondition)
	}).Should(BeFalse())
}

func TestHostThatIsRestoredWithItsConsumerIsFoundByItsMachine(t *testing.T) {
	t.Parallel()
	w := stillWorld(t)
	w.hosts(simulator.Racks(1, 1))
	w.start()
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	host := w.lose(rack1)
	update(w, machine, func(machine *infrav1.Metal3Machine) {
		metav1.SetMetaDataAnnotation(&machine.ObjectMeta, "test/again", "1")
	})
	w.waits(machine, infrav1.Metal3MachineHostNotFoundReason)
	host.ResourceVersion, host.UID = "", ""
	w.create(host)
	w.waits(machine, infrav1.Metal3MachineAssociateBareMetalHostSuccessReason)
}

func TestDeletionSaysThatNobodyDeprovisionsTheHost(t *testing.T) {
	t.Parallel()
	for _, key := range []string{bmov1alpha1.PausedAnnotation, bmov1alpha1.DetachedAnnotation} {
		t.Run(key, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, simulator.Racks(1, 1))
			w.cluster("one", "rack-1")
			machine := w.machine("one", "cp-0", "rack-1")
			w.provisioned(machine)
			update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&host.ObjectMeta, key, "") })
			w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
			w.Eventually(func() string {
				return w.condition(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition, infrav1.Metal3MachineDeletingReason)
			}).Should(ContainSubstring("remove the annotation " + key))
			update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { delete(host.Annotations, key) })
			w.gone(machine)
		})
	}
}
