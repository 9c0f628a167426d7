// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	"github.com/faultline-io/faultline/shared/testworld"
)

const notValid = "firmware cannot be used with the driver of this host"

// refuses makes the API server reject updates of a host until accept is called.
func (w *world) refuses(name string) (accept func()) {
	w.t.Helper()
	key := client.ObjectKeyFromObject(w.host(name))
	w.Expect(w.sim.RefuseUpdates(w.t.Context(), key, notValid)).To(Succeed())
	return func() {
		w.t.Helper()
		w.Expect(w.sim.AcceptUpdates(w.t.Context(), key)).To(Succeed())
	}
}

func TestHostThatRefusesItsUpdateIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 3))
	defer w.refuses(rack1)()
	w.cluster("one", "rack-1")
	first, second := w.machine("one", "first", "rack-1"), w.machine("one", "second", "rack-1")
	w.Expect(w.provisioned(first).Name).NotTo(Equal(rack1))
	w.Expect(w.provisioned(second).Name).NotTo(Equal(rack1))
}

func TestMachineSaysWhichHostRefusesItAndGetsItWhenThatIsRepaired(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	accept := w.refuses(rack1)
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.waits(machine, infrav1.Metal3MachineHostRefusedReason)).To(And(ContainSubstring("BareMetalHost "+rack1), ContainSubstring(notValid),
		HaveSuffix("no other host is free: failure domain rack-1: 1 host, 1 refused by the API server")))
	w.Expect(machine.Annotations).NotTo(HaveKey(infrav1.HostAnnotation))
	accept()
	update(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&host.ObjectMeta, "repaired", "") })
	w.Expect(w.provisioned(machine).Name).To(Equal(rack1))
}

// The operator serves the webhook of hosts, which is unavailable while it restarts.
func TestMachineGetsItsHostSoonAfterTheOperatorsWebhookAnswersAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.Expect(w.sim.LoseWebhook(t.Context(), w.name)).To(Succeed())
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.Expect(w.waits(machine, infrav1.Metal3MachineAssociateBareMetalHostFailedReason)).To(ContainSubstring("failed calling webhook"))
	w.Expect(w.sim.RestoreWebhook(t.Context(), w.name)).To(Succeed())
	w.provisioned(machine)
}

func TestPauseSaysThatTheOperatorsWebhookIsAwayAndGoesOnWhenItIsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	w.Expect(w.sim.LoseWebhook(t.Context(), w.name)).To(Succeed())
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	w.get(cluster)
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	w.Eventually(func() string {
		return w.waits(machine, infrav1.Metal3MachineHostPauseAnnotationSetFailedReason) // which may be preceded by a conflict
	}).Should(ContainSubstring("start what serves the webhook"))
	w.Expect(w.host(rack1).Annotations).To(HaveKey(blockMove), "it cannot be moved yet")
	w.Expect(w.sim.RestoreWebhook(t.Context(), w.name)).To(Succeed())
	w.Eventually(func() map[string]string { return w.host(rack1).Annotations }).ShouldNot(HaveKey(blockMove))
}

// The webhook of hosts rejects the status annotation of a host in servicing, which a move needs.
func TestPauseOfAHostThatIsBeingServicedIsRefusedAndPassesAfterwards(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	key := client.ObjectKeyFromObject(w.provisioned(machine))
	w.sim.Stick(bmov1alpha1.StateProvisioned, key)
	updateStatus(w, w.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Status.OperationalStatus = bmov1alpha1.OperationalStatusServicing
	})
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("one")}
	w.get(cluster)
	update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	w.Eventually(func() string {
		return w.waits(machine, infrav1.Metal3MachineHostPauseAnnotationSetFailedReason)
	}).Should(ContainSubstring("invalid operationalStatus"))
	w.Expect(w.host(rack1).Annotations).To(HaveKey(blockMove))
	w.sim.Heal(key)
	w.Eventually(func() map[string]string { return w.host(rack1).Annotations }).ShouldNot(HaveKey(blockMove))
}

func TestDeletedMachineSaysThatItsHostCannotBeChanged(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.provisioned(machine)
	accept := w.refuses(rack1)
	w.Expect(w.client.Delete(t.Context(), machine)).To(Succeed())
	w.Eventually(func() string { return testworld.Describe(w.get(machine).(*infrav1.Metal3Machine)) }).Should(ContainSubstring(notValid))
	accept()
	w.gone(machine)
}

func TestMachineSaysThatItsHostRefusesWhatItIsToRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(1, 1))
	key := client.ObjectKeyFromObject(w.host(rack1))
	w.sim.Stick(bmov1alpha1.StateProvisioning, key)
	w.cluster("one", "rack-1")
	machine := w.machine("one", "cp-0", "rack-1")
	w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	accept := w.refuses(rack1)
	update(w, machine, func(machine *infrav1.Metal3Machine) { machine.Spec.AutomatedCleaningMode = "disabled" })
	w.Expect(w.condition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostRefusedReason)).To(
		And(ContainSubstring("BareMetalHost "+rack1), ContainSubstring(notValid)))
	accept()
	w.sim.Heal(key)
	w.Expect(w.provisioned(machine).Spec.AutomatedCleaningMode).To(Equal(bmov1alpha1.CleaningModeDisabled))
}
