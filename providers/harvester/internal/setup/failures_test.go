// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	kubevirtv1 "kubevirt.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func (w *fixture) machinesOnHarvester() []kubevirtv1.VirtualMachine {
	w.t.Helper()
	vms := &kubevirtv1.VirtualMachineList{}
	w.Expect(w.harvester.List(w.t.Context(), vms, client.InNamespace(w.name))).To(Succeed())
	return vms.Items
}

func TestSlowHarvesterDelaysNoOther(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 1)
	slow := simulator.Start(t, simulator.WithLayout(simulator.Zones(1, 1)), simulator.WithNamespaces(w.name))
	w.create(&corev1.Secret{ObjectMeta: w.meta("slow"), Data: map[string][]byte{infrav1.KubeconfigKey: slow.Kubeconfig()}})
	slowCluster := w.cluster("slow", func(c *infrav1.HarvesterCluster) {
		c.Spec.IdentitySecret.Name, c.Spec.FailureDomainTopologyKey = "slow", ""
	})
	w.waitForReason(slowCluster, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)
	here := w.cluster("fast")
	w.waitForReason(here, faultlinev1.FailureDomainsReadyCondition, faultlinev1.ReasonAllActive)

	// Once the manager has created a machine, its caches of images, networks and key pairs have synced.
	first := w.machine("slow", "first", zoneName(1))
	w.Eventually(func() bool {
		w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(first), first)).To(Succeed())
		return ptr.Deref(first.Status.Initialization.Provisioned, false)
	}).Should(BeTrue())
	slow.ForgetRequests()
	// A response arrives before the manager's request times out. Creating all of them takes longer than the test waits.
	slow.Delay(8 * time.Second)
	t.Cleanup(func() { slow.Delay(0) })
	const many = 200
	for i := range many {
		w.machine("slow", fmt.Sprintf("slow-%d", i), zoneName(1))
	}
	w.Eventually(func() int { return len(slow.Requests()) }).Should(BeNumerically(">=", 10), "it works on many of them")
	w.waitForProvisioned(w.machine("fast", "fast", zoneName(1)))
	vms := &kubevirtv1.VirtualMachineList{}
	w.Expect(slow.Client().List(t.Context(), vms)).To(Succeed())
	w.Expect(len(vms.Items)).To(BeNumerically("<", many), "others still wait")
}

func TestMachineRejectedByQuotaIsCreatedLater(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 1)
	w.cluster("c")
	quota := integration.User{T: t, G: w.WithT, Client: w.harvester}.Quota(w.name, "count/virtualmachines.kubevirt.io", 0)

	machine := w.machine("c", "m", zoneName(1))
	w.Expect(w.waitForReason(machine, infrav1.MachineCreatedCondition, infrav1.VirtualMachineRefusedReason)).To(ContainSubstring("exceeded quota"))
	w.Expect(w.machinesOnHarvester()).To(BeEmpty())
	w.Expect(w.harvester.Delete(t.Context(), quota)).To(Succeed())
	w.waitForProvisioned(machine)
	w.Expect(w.machinesOnHarvester()).To(HaveLen(1))
}

func TestMachinesOfPausedClusterAreNotReconciled(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 1)
	w.cluster("c")
	kept := w.machine("c", "kept", zoneName(1))
	w.waitForProvisioned(kept)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("c")}
	pause := func(paused bool) {
		update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(paused) })
	}
	pause(true)
	w.waitForReason(kept, clusterv1.PausedCondition, clusterv1.PausedReason)
	w.Expect(w.client.Delete(t.Context(), kept)).To(Succeed())
	fresh := w.machine("c", "fresh", zoneName(1))
	w.waitForReason(fresh, clusterv1.PausedCondition, clusterv1.PausedReason)
	w.Consistently(func(g Gomega) {
		vms := w.machinesOnHarvester()
		g.Expect(vms).To(HaveLen(1))
		g.Expect(vms[0].Name).To(Equal(kept.Name))
		g.Expect(vms[0].DeletionTimestamp).To(BeNil())
	}, time.Second, integration.PollInterval).Should(Succeed())

	pause(false)
	w.waitForProvisioned(fresh)
	w.waitForDeletion(w.client, kept)
	w.Expect(w.machinesOnHarvester()).To(HaveLen(1))
}

func TestMissingBootstrapDataMattersOnlyBeforeCreation(t *testing.T) {
	t.Parallel()
	w := newFixture(t, 1, 1)
	w.cluster("c")
	machine := w.machine("c", "m", zoneName(1))
	before := w.waitForProvisioned(machine)
	w.Expect(w.client.Delete(t.Context(), &corev1.Secret{ObjectMeta: w.meta(machine.Name)})).To(Succeed())
	w.stop()
	w.start()
	// Once the next machine is created, the manager has reconciled all of them again.
	next := w.machine("c", "next", zoneName(1))
	w.waitForProvisioned(next)
	w.waitForReason(machine, infrav1.InfrastructureReadyCondition, infrav1.InfrastructureReadyReason)
	w.Expect(w.instance(machine.Name).UID).To(Equal(before.UID))
	secrets := &corev1.SecretList{}
	id := client.MatchingLabels{infrav1.MachineIDLabel: machine.Annotations[infrav1.MachineIDAnnotation]}
	w.Expect(w.harvester.List(t.Context(), secrets, client.InNamespace(w.name), id)).To(Succeed())
	w.Expect(secrets.Items).To(HaveLen(1), "the guest reads it when it boots again")

	late := w.machine("c", "late", zoneName(1), func(machine *clusterv1.Machine, _ *infrav1.HarvesterMachine) {
		machine.Spec.Bootstrap.DataSecretName = ptr.To("gone")
	})
	w.Expect(w.waitForReason(late, infrav1.MachineCreatedCondition, infrav1.WaitingForBootstrapDataReason)).To(ContainSubstring("/gone "))
	w.create(&corev1.Secret{ObjectMeta: w.meta("gone"), Data: map[string][]byte{"value": []byte("#cloud-config\n")}})
	w.waitForProvisioned(late)
}
