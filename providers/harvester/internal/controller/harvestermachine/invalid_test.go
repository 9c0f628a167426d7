// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestermachine_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// identity replaces the cluster's kubeconfig.
func (w *fixture) identity(kubeconfig []byte) {
	w.t.Helper()
	secret := &corev1.Secret{}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Namespace: w.name, Name: "identity"}, secret)).To(Succeed())
	secret.Data[infrav1.KubeconfigKey] = kubeconfig
	w.Expect(w.client.Update(w.t.Context(), secret)).To(Succeed())
}

// heldMachine creates a machine that waits for a missing network, and therefore reports why Harvester cannot be read.
func (w *fixture) heldMachine() *infrav1.HarvesterMachine {
	w.t.Helper()
	held := w.machine("held", "zone-2", func(held *infrav1.HarvesterMachine) { held.Spec.Networks = []string{"default/none"} })
	w.waitForReason(held, infrav1.MachineCreatedCondition, infrav1.NetworkNotFoundReason)
	return held
}

func TestExpiredKubeconfigIsReportedUntilReplaced(t *testing.T) {
	w := newFixture(t)
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	kubeconfig := sim.KubeconfigFor(w.name, everything, "")
	w.identity(kubeconfig)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	before, held := w.latest(infra), w.heldMachine()
	w.Expect(sim.Revoke(kubeconfig)).To(Succeed())
	w.fault("cut-watches", true)
	w.Expect(w.waitForReason(held, infrav1.InfrastructureReadyCondition, infrav1.HarvesterAuthenticationFailedReason)).To(ContainSubstring("put a new kubeconfig"))
	w.Expect(conditions.Get(w.latest(held), infrav1.InfrastructureReadyCondition).Status).To(Equal(metav1.ConditionUnknown))
	w.Expect(w.latest(infra)).To(Equal(before))
	w.identity(sim.KubeconfigFor(w.name, everything, ""))
	w.waitForProvisioned(w.machine("next", "zone-1"))
	w.Expect(w.latest(infra)).To(Equal(before))
}

func TestKubeconfigOfAnotherHarvesterChangesNothing(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	before, held := w.latest(infra), w.heldMachine()
	w.updateCluster(func(cluster *infrav1.HarvesterCluster) {
		metav1.SetMetaDataAnnotation(&cluster.ObjectMeta, infrav1.HarvesterUIDAnnotation, "that-of-the-right-one")
	})
	w.Expect(w.waitForReason(held, infrav1.InfrastructureReadyCondition, infrav1.AnotherHarvesterReason)).To(ContainSubstring("that-of-the-right-one"))
	w.Expect(w.latest(infra)).To(Equal(before))
	w.delete(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.DeletionBlockedReason)
	w.Expect(w.vm(infra).DeletionTimestamp).To(BeNil())
}

func TestMachineWaitsForIPPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	later := simulator.Pool(w.name+"-later", "10.78.1.0/24", "10.78.1.10", "10.78.1.11")
	other := simulator.Pool(w.name+"-other", "10.78.2.0/24", "10.78.2.10", "10.78.2.11")
	other.Spec.Selector.Network = "default/vlan-2"
	w.Expect(w.harvester.Create(t.Context(), &other)).To(Succeed())
	waits := w.machine("a", "zone-1", fromPools(later.Name))
	w.Expect(w.waitForReason(waits, infrav1.VMIPAllocatedCondition, infrav1.IPPoolNotFoundReason)).To(ContainSubstring(later.Name))
	w.waitForReason(waits, infrav1.MachineCreatedCondition, infrav1.WaitingForAddressReason)
	mismatch := w.machine("b", "zone-1", fromPools(other.Name))
	w.Expect(w.waitForReason(mismatch, infrav1.VMIPAllocatedCondition, infrav1.IPPoolNetworkMismatchReason)).
		To(And(ContainSubstring(other.Name), ContainSubstring("default/vlan-2")))
	w.Expect(w.harvester.Create(t.Context(), &later)).To(Succeed())
	w.waitForProvisioned(waits)
}

func TestFailedImageImportIsReported(t *testing.T) {
	w := newFixture(t)
	w.fault("no-images", true)
	image := &harvesterhciv1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "broken"}}
	w.Expect(w.harvester.Create(t.Context(), image)).To(Succeed())
	w.Eventually(func(g Gomega) {
		g.Expect(w.harvester.Get(t.Context(), client.ObjectKeyFromObject(image), image)).To(Succeed())
		g.Expect(image.Status.StorageClassName).NotTo(BeEmpty())
		image.Status.Progress = 37
		g.Expect(w.harvester.Status().Update(t.Context(), image)).To(Succeed())
	}).Should(Succeed())
	w.start()
	infra := w.machine("a", "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.Volumes[0].ImageName = "broken" })
	w.Expect(w.waitForReason(infra, infrav1.MachineCreatedCondition, infrav1.ImageNotReadyReason)).
		To(And(ContainSubstring("waiting for VirtualMachineImage"), ContainSubstring("(37%)")))
	w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{}).(*kubevirtv1.VirtualMachineList).Items).To(BeEmpty(), "nothing is made of half an image")
	image.Status.Conditions = []harvesterhciv1.Condition{{Type: harvesterhciv1.ImageImported, Status: corev1.ConditionFalse, Message: "404 Not Found"}}
	w.Expect(w.harvester.Status().Update(t.Context(), image)).To(Succeed())
	w.Eventually(func() string { return conditions.GetMessage(w.latest(infra), infrav1.MachineCreatedCondition) }).
		Should(ContainSubstring("cannot be imported: 404 Not Found: import it again"))
}

func TestSilentWatchesChangeNothing(t *testing.T) {
	w := newFixture(t)
	w.silence = 3 * time.Second
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	before, held := w.latest(infra), w.heldMachine()
	w.fault("silent", true)
	w.waitForReason(held, infrav1.InfrastructureReadyCondition, infrav1.HarvesterSilentReason)
	waits := w.machine("b", "zone-2")
	w.waitForReason(waits, infrav1.InfrastructureReadyCondition, infrav1.HarvesterSilentReason)
	w.Expect(conditions.Get(w.latest(waits), infrav1.InfrastructureReadyCondition).Status).To(Equal(metav1.ConditionUnknown))
	w.Expect(w.latest(infra)).To(Equal(before))
	w.Expect(w.latest(waits).Finalizers).To(BeEmpty(), "nothing is made")
	w.fault("silent", false)
	w.waitForReason(infra, infrav1.InfrastructureReadyCondition, infrav1.WaitingForNodeReason)
	w.waitForProvisioned(waits)
}
