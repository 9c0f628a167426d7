// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

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
	"github.com/faultline-io/faultline/shared/integration"
)

const notValid = "firmware cannot be used with the driver of this host"

// refuseUpdates makes the API server reject updates of a host until accept is called.
func (f *fixture) refuseUpdates(name string) (accept func()) {
	f.t.Helper()
	key := client.ObjectKeyFromObject(f.host(name))
	f.Expect(f.sim.RefuseUpdates(f.t.Context(), key, notValid)).To(Succeed())
	return func() {
		f.t.Helper()
		f.Expect(f.sim.AcceptUpdates(f.t.Context(), key)).To(Succeed())
	}
}

func TestNextHostIsTriedAfterRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 3))
	defer f.refuseUpdates(rack1)()
	f.cluster("one", "rack-1")
	first, second := f.machine("one", "first", "rack-1"), f.machine("one", "second", "rack-1")
	f.Expect(f.waitForProvisioned(first).Name).NotTo(Equal(rack1))
	f.Expect(f.waitForProvisioned(second).Name).NotTo(Equal(rack1))
}

func TestMachineReportsRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	accept := f.refuseUpdates(rack1)
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForReason(machine, infrav1.Metal3MachineHostRefusedReason)).To(And(ContainSubstring("BareMetalHost "+rack1), ContainSubstring(notValid),
		HaveSuffix("no other host is free: failure domain rack-1: 1 host, 1 refused by the API server")))
	f.Expect(machine.Annotations).NotTo(HaveKey(infrav1.HostAnnotation))
	accept()
	update(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) { metav1.SetMetaDataAnnotation(&host.ObjectMeta, "repaired", "") })
	f.Expect(f.waitForProvisioned(machine).Name).To(Equal(rack1))
}

// The operator serves the webhook of hosts, which is unavailable while it restarts.
func TestClaimAfterWebhookOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.Expect(f.sim.LoseWebhook(t.Context(), f.name)).To(Succeed())
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.Expect(f.waitForReason(machine, infrav1.Metal3MachineAssociateBareMetalHostFailedReason)).To(ContainSubstring("failed calling webhook"))
	f.Expect(f.sim.RestoreWebhook(t.Context(), f.name)).To(Succeed())
	f.waitForProvisioned(machine)
}

func TestPauseDuringWebhookOutage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.Expect(f.sim.LoseWebhook(t.Context(), f.name)).To(Succeed())
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("one")}
	f.get(cluster)
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	f.Eventually(func() string {
		return f.waitForReason(machine, infrav1.Metal3MachineHostPauseAnnotationSetFailedReason) // which may be preceded by a conflict
	}).Should(ContainSubstring("repair the webhook's server"))
	f.Expect(f.host(rack1).Annotations).To(HaveKey(blockMove), "it cannot be moved yet")
	f.Expect(f.sim.RestoreWebhook(t.Context(), f.name)).To(Succeed())
	f.Eventually(func() map[string]string { return f.host(rack1).Annotations }).ShouldNot(HaveKey(blockMove))
}

// The webhook of hosts rejects the status annotation of a host in servicing, which a move needs.
func TestPauseOfServicedHostIsRefused(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	key := client.ObjectKeyFromObject(f.waitForProvisioned(machine))
	f.sim.Stick(bmov1alpha1.StateProvisioned, key)
	updateStatus(f, f.host(rack1), func(host *bmov1alpha1.BareMetalHost) {
		host.Status.OperationalStatus = bmov1alpha1.OperationalStatusServicing
	})
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("one")}
	f.get(cluster)
	update(f, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(true) })
	f.Eventually(func() string {
		return f.waitForReason(machine, infrav1.Metal3MachineHostPauseAnnotationSetFailedReason)
	}).Should(ContainSubstring("invalid operationalStatus"))
	f.Expect(f.host(rack1).Annotations).To(HaveKey(blockMove))
	f.sim.Heal(key)
	f.Eventually(func() map[string]string { return f.host(rack1).Annotations }).ShouldNot(HaveKey(blockMove))
}

func TestDeletionReportsRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	accept := f.refuseUpdates(rack1)
	f.Expect(f.client.Delete(t.Context(), machine)).To(Succeed())
	f.Eventually(func() string { return integration.Describe(f.get(machine).(*infrav1.Metal3Machine)) }).Should(ContainSubstring(notValid))
	accept()
	f.waitForDeletion(machine)
}

func TestConfigurationReportsRefusal(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	key := client.ObjectKeyFromObject(f.host(rack1))
	f.sim.Stick(bmov1alpha1.StateProvisioning, key)
	f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostProvisioningReason)
	accept := f.refuseUpdates(rack1)
	update(f, machine, func(machine *infrav1.Metal3Machine) { machine.Spec.AutomatedCleaningMode = "disabled" })
	f.Expect(f.waitForCondition(machine, infrav1.Metal3MachineHostProvisionedCondition, infrav1.Metal3MachineHostRefusedReason)).To(
		And(ContainSubstring("BareMetalHost "+rack1), ContainSubstring(notValid)))
	accept()
	f.sim.Heal(key)
	f.Expect(f.waitForProvisioned(machine).Spec.AutomatedCleaningMode).To(Equal(bmov1alpha1.CleaningModeDisabled))
}
