// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"slices"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/integration"
)

// claim creates a claim on Harvester.
func (w *fixture) claim(name string) {
	w.t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: name}, Spec: claimSpec()}
	w.Expect(w.harvester.Create(w.t.Context(), claim)).To(Succeed())
}

// claimNames returns the names of the claims that are not being deleted.
func (w *fixture) claimNames() []string {
	w.t.Helper()
	var names []string
	for _, claim := range w.claims() {
		if claim.DeletionTimestamp.IsZero() {
			names = append(names, claim.Name)
		}
	}
	slices.Sort(names)
	return names
}

func (w *fixture) labelsOf(claim string) map[string]string {
	w.t.Helper()
	found := &corev1.PersistentVolumeClaim{}
	w.Expect(w.harvester.Get(w.t.Context(), client.ObjectKey{Namespace: w.name, Name: claim}, found)).To(Succeed())
	return found.Labels
}

func (w *fixture) plug(vm *infrav1.HarvesterMachine, claim string) {
	w.t.Helper()
	w.Expect(sim.AddVolume(w.t.Context(), client.ObjectKeyFromObject(vm), claim)).To(Succeed())
}

func (w *fixture) unplug(vm *infrav1.HarvesterMachine, claim string) {
	w.t.Helper()
	w.Expect(sim.RemoveVolume(w.t.Context(), client.ObjectKeyFromObject(vm), claim)).To(Succeed())
}

// upstreamMachine creates a machine with a virtual machine from upstream. It has the disk <name>-disk-0-abcde and a hot-plugged
// volume of a workload, pvc-data.
func (w *fixture) upstreamMachine(name string) *infrav1.HarvesterMachine {
	w.t.Helper()
	vm := w.foreignVM(name)
	w.Expect(w.harvester.Create(w.t.Context(), vm)).To(Succeed())
	w.claim(vm.Name + "-disk-0-abcde")
	w.claim("pvc-data")
	infra := w.machine(name, "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.ProviderID = virtualmachine.ProviderID(vm) })
	w.plug(infra, "pvc-data")
	return infra
}

func TestDeleteKeepsHotPluggedVolume(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	infra := w.upstreamMachine("a")
	w.start()
	w.waitForProvisioned(infra)
	id := w.latest(infra).Annotations[infrav1.MachineIDAnnotation]
	w.Expect(w.labelsOf(infra.Name + "-disk-0-abcde")).To(HaveKeyWithValue(infrav1.MachineIDLabel, id))
	w.Expect(w.labelsOf("pvc-data")).NotTo(HaveKey(infrav1.MachineIDLabel))
	w.unplug(infra, "pvc-data") // as when a StatefulSet is scaled to zero
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{"pvc-data"}))
}

func TestDeleteAfterHotPluggedVolumeMoved(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	infra := w.upstreamMachine("a")
	w.start()
	w.waitForProvisioned(infra)
	next := w.machine("b", "zone-2")
	w.waitForProvisioned(next)
	w.unplug(infra, "pvc-data")
	w.plug(next, "pvc-data")
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(And(HaveLen(2), ContainElement("pvc-data")))
	w.unplug(next, "pvc-data")
	w.delete(next)
	w.waitForDeletion(next)
	w.Eventually(w.claimNames).Should(Equal([]string{"pvc-data"}))
}

func TestDeleteBeforeTakeOverKeepsHotPluggedVolume(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	infra := w.upstreamMachine("a")
	w.update(infra, func(now *infrav1.HarvesterMachine) { now.Finalizers = []string{infrav1.MachineFinalizerLegacy} })
	w.delete(infra)
	w.start()
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{"pvc-data"}))
}

func TestHotPluggedVolumesAreUnmarked(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	infra := w.upstreamMachine("a")
	stop := w.start()
	w.waitForProvisioned(infra)
	stop()
	// As an earlier release left them.
	now := w.latest(infra)
	w.update(infra, func(now *infrav1.HarvesterMachine) {
		delete(now.Annotations, infrav1.VolumesAnnotation)
		delete(now.Annotations, infrav1.IDOfAnnotation)
	})
	data := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "pvc-data"}}
	integration.Update(integration.User{T: t, G: w.WithT, Client: w.harvester}, data, integration.Whole, func(claim *corev1.PersistentVolumeClaim) {
		claim.Labels = map[string]string{infrav1.MachineIDLabel: now.Annotations[infrav1.MachineIDAnnotation], clusterv1.ClusterNameLabel: w.name, "app": "db"}
		claim.Annotations = map[string]string{infrav1.OwnerAnnotation: infrav1.Owner(infra.Namespace, infra.Name)}
	})
	w.start()
	w.Eventually(func() map[string]string { return w.labelsOf("pvc-data") }).Should(Equal(map[string]string{"app": "db"}))
	w.Expect(w.labelsOf(infra.Name + "-disk-0-abcde")).To(HaveKey(infrav1.MachineIDLabel))
	w.unplug(infra, "pvc-data")
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{"pvc-data"}))
}

// An earlier release marked the volume, and it is not attached when this release starts.
func TestDeleteKeepsHotPluggedVolumeMarkedByEarlierRelease(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	stop := w.start()
	infra := w.machine("a", "zone-1")
	now := w.waitForProvisioned(infra)
	stop()
	data := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{
		Namespace: w.name, Name: "pvc-data", Labels: map[string]string{infrav1.MachineIDLabel: now.Annotations[infrav1.MachineIDAnnotation]},
		Annotations: map[string]string{infrav1.OwnerAnnotation: infrav1.Owner(infra.Namespace, infra.Name)},
	}, Spec: claimSpec()}
	w.Expect(w.harvester.Create(t.Context(), data)).To(Succeed())
	w.start()
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{"pvc-data"}))
}

func TestDeleteKeepsVolumesOfRestoredCopy(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(sim.Restore(t.Context(), client.ObjectKeyFromObject(infra), "copy")).To(Succeed())
	w.Eventually(w.claimNames).Should(HaveLen(2))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{"restore-copy-disk-0"}))
	w.Consistently(func() bool {
		return w.vm(&infrav1.HarvesterMachine{ObjectMeta: w.meta("copy")}).DeletionTimestamp.IsZero()
	}).Should(BeTrue())
}

func TestDeleteKeepsClone(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	w.Expect(sim.Clone(t.Context(), client.ObjectKeyFromObject(infra), "clone")).To(Succeed())
	w.Eventually(w.claimNames).Should(HaveLen(2))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{"clone-disk-0"}))
	w.Consistently(func() bool {
		return w.vm(&infrav1.HarvesterMachine{ObjectMeta: w.meta("clone")}).DeletionTimestamp.IsZero()
	}).Should(BeTrue())
}

func TestDeleteVolumesRestoredInPlace(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	before := w.claimNames()
	w.Expect(sim.RestoreInPlace(t.Context(), client.ObjectKeyFromObject(infra), "b")).To(Succeed())
	w.Eventually(func() string { return w.latest(infra).Annotations[infrav1.VolumesAnnotation] }).Should(Equal("restore-b-disk-0"))
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal(before))
}

func TestDeleteDisksOfCDIImage(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	image := &harvesterhciv1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: "cdi"}}
	image.Spec = harvesterhciv1.VirtualMachineImageSpec{DisplayName: "cdi", Backend: harvesterhciv1.BackendCDI}
	w.Expect(w.harvester.Create(t.Context(), image)).To(Succeed())
	w.start()
	infra := w.machine("a", "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.Volumes[0].ImageName = w.name + "/cdi" })
	w.waitForProvisioned(infra)
	w.Expect(w.claimNames()).To(HaveLen(1))
	w.Expect(w.labelsOf(w.claimNames()[0])).To(BeEmpty())
	w.claim(infra.Name + "-disk-9-other")
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Eventually(w.claimNames).Should(Equal([]string{infra.Name + "-disk-9-other"}))
}

func TestDeleteKeepsUnlabelledVolume(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	claim := &w.claims()[0]
	integration.Update(integration.User{T: t, G: w.WithT, Client: w.harvester}, claim, integration.Whole, func(claim *corev1.PersistentVolumeClaim) {
		delete(claim.Labels, infrav1.MachineIDLabel)
	})
	w.delete(infra)
	w.waitForDeletion(infra)
	w.Consistently(w.claimNames).Should(Equal([]string{claim.Name}))
}
