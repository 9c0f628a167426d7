// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"encoding/json"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	harvesterhciv1 "github.com/faultline-io/faultline/providers/harvester/api/harvesterhci/v1beta1"
)

// templates sets the annotation with the PVCs that Harvester creates for a virtual machine.
func templates(change func(*corev1.PersistentVolumeClaim)) func(*kubevirtv1.VirtualMachine) {
	return func(vm *kubevirtv1.VirtualMachine) {
		const annotation = "harvesterhci.io/volumeClaimTemplates"
		var all []corev1.PersistentVolumeClaim
		if err := json.Unmarshal([]byte(vm.Annotations[annotation]), &all); err != nil {
			panic(err) // never fails
		}
		for i := range all {
			change(&all[i])
		}
		text, err := json.Marshal(all)
		if err != nil {
			panic(err)
		}
		vm.Annotations[annotation] = string(text)
	}
}

func labelled(claim *corev1.PersistentVolumeClaim) {
	claim.Labels, claim.Annotations = map[string]string{"id": "1"}, map[string]string{"owner": "a"}
}

func (s *fixture) claim(name string) *corev1.PersistentVolumeClaim {
	s.t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	s.Eventually(func() error {
		return s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, claim)
	}).Should(Succeed())
	return claim
}

func TestAddAndRemoveVolume(t *testing.T) {
	s := newFixture(t)
	vm := client.ObjectKeyFromObject(s.create("vm"))
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)
	data := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "pvc-data"}, Spec: s.claim("vm-disk-0").Spec}
	data.Spec.VolumeName = ""
	s.Expect(s.client.Create(t.Context(), data)).To(Succeed())

	s.Expect(sim.AddVolume(t.Context(), vm, "pvc-data")).To(Succeed())
	plugged := ContainElement(And(HaveField("Name", "pvc-data"), HaveField("PersistentVolumeClaim.Hotpluggable", BeTrue())))
	s.Expect(s.vm("vm").Spec.Template.Spec.Volumes).To(plugged)
	s.Expect(s.instance("vm").Spec.Volumes).To(plugged)
	s.Expect(sim.AddVolume(t.Context(), vm, "pvc-data")).NotTo(Succeed(), "it is already attached")
	s.Eventually(func() error { return s.client.Delete(t.Context(), data, client.DryRunAll) }).Should(MatchError(ContainSubstring("currently attached")))

	s.Expect(sim.RemoveVolume(t.Context(), vm, "vm-disk-0")).NotTo(Succeed(), "it is not hotpluggable")
	s.Expect(sim.RemoveVolume(t.Context(), vm, "pvc-data")).To(Succeed())
	s.Expect(s.instance("vm").Spec.Volumes).To(HaveLen(1))
	s.Eventually(func() error { return s.client.Delete(t.Context(), data) }).Should(Succeed())
}

func TestLabelsOfCopies(t *testing.T) {
	s := newFixture(t)
	vm := client.ObjectKeyFromObject(s.create("vm", templates(labelled), func(vm *kubevirtv1.VirtualMachine) {
		vm.Labels = map[string]string{"id": "1"}
		vm.Annotations["owner"] = "a"
	}))
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)

	s.Expect(sim.Clone(t.Context(), vm, "clone")).To(Succeed())
	clone := s.waitForStatus("clone", kubevirtv1.VirtualMachineStatusRunning)
	s.Expect(clone.Labels).To(HaveKeyWithValue("id", "1"))
	s.Expect(clone.Annotations).NotTo(HaveKey("owner"))
	s.Expect(clone.Spec.Template.ObjectMeta.Labels).To(And(HaveKeyWithValue("app", "test"), HaveKeyWithValue("harvesterhci.io/vmName", "clone")))
	s.Expect(clone.Spec.Template.ObjectMeta.Annotations).To(HaveKeyWithValue("note", "copied"))
	s.Expect(s.claim("clone-disk-0").Labels).To(BeEmpty())

	s.Expect(sim.Restore(t.Context(), vm, "restored")).To(Succeed())
	restored := s.waitForStatus("restored", kubevirtv1.VirtualMachineStatusRunning)
	s.Expect(restored.Labels).To(BeEmpty())
	s.Expect(restored.Spec.Template.ObjectMeta.Labels).NotTo(HaveKey("app"))
	s.Expect(s.claim("restore-restored-disk-0").Labels).To(HaveKeyWithValue("id", "1"))
	s.Expect(s.claim("restore-restored-disk-0").Annotations).To(HaveKeyWithValue("owner", "a"))

	s.Expect(sim.RestoreInPlace(t.Context(), vm, "again")).To(Succeed())
	now := s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)
	s.Expect(now.Annotations).NotTo(HaveKey("harvesterhci.io/volumeClaimTemplates"))
	s.Expect(now.Labels).To(HaveKeyWithValue("id", "1"))
	s.Expect(s.claim("restore-again-disk-0").Labels).To(HaveKeyWithValue("id", "1"))
	s.Expect(s.claim("vm-disk-0").DeletionTimestamp).To(BeNil())
}

func TestVolumeOfCDIImageHasNoLabels(t *testing.T) {
	s := newFixture(t)
	image := &harvesterhciv1.VirtualMachineImage{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "image"}}
	image.Spec = harvesterhciv1.VirtualMachineImageSpec{DisplayName: "image", Backend: harvesterhciv1.BackendCDI}
	s.Expect(s.client.Create(t.Context(), image)).To(Succeed())
	s.Eventually(func() string {
		s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(image), image)).To(Succeed())
		return image.Status.StorageClassName
	}).ShouldNot(BeEmpty())
	s.create("vm", templates(func(claim *corev1.PersistentVolumeClaim) {
		labelled(claim)
		claim.Annotations["harvesterhci.io/imageId"] = s.namespace + "/image"
	}))
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)
	s.Expect(s.claim("vm-disk-0").Labels).To(BeEmpty())
	s.Expect(s.claim("vm-disk-0").Annotations).NotTo(HaveKey("owner"))
}
