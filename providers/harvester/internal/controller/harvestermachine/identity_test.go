// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine_test

import (
	"maps"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
)

// copyOf creates a machine from another one's YAML.
func (w *fixture) copyOf(of *infrav1.HarvesterMachine, name string, change ...func(*infrav1.HarvesterMachine)) *infrav1.HarvesterMachine {
	w.t.Helper()
	now := w.latest(of)
	return w.machine(name, "zone-2", append([]func(*infrav1.HarvesterMachine){func(infra *infrav1.HarvesterMachine) {
		infra.Annotations, infra.Spec = maps.Clone(now.Annotations), *now.Spec.DeepCopy()
	}}, change...)...)
}

// expectComplete verifies that all objects of a machine exist.
func (w *fixture) expectComplete(infra *infrav1.HarvesterMachine, pool, address string) {
	w.t.Helper()
	w.Consistently(func(g Gomega) {
		g.Expect(w.vm(infra).DeletionTimestamp).To(BeNil())
		g.Expect(w.claimNames()).To(HaveLen(1))
		g.Expect(w.listOnHarvester(&corev1.SecretList{})).To(HaveField("Items", HaveLen(1)))
		g.Expect(w.allocated(pool)).To(HaveKey(address))
	}).Should(Succeed())
}

func TestCopiedMachineTakesNoObjectsOfOriginal(t *testing.T) {
	t.Parallel()
	for i, tc := range []struct {
		name   string
		change func(*infrav1.HarvesterMachine)
	}{
		{"with all annotations", func(*infrav1.HarvesterMachine) {}},
		{"without a provider ID, as of a template", func(infra *infrav1.HarvesterMachine) { infra.Spec.ProviderID = "" }},
		{"as an earlier release has annotated it", func(infra *infrav1.HarvesterMachine) {
			delete(infra.Annotations, infrav1.IDOfAnnotation)
			infra.Spec.ProviderID = ""
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t)
			w.start()
			pool := w.pool("one", byte(40+i))
			infra := w.machine("a", "zone-1", fromPools(pool))
			address := w.waitForProvisioned(infra).Status.AllocatedIPAddress
			copied := w.copyOf(infra, "b", tc.change)
			w.Expect(w.waitForReason(copied, infrav1.MachineCreatedCondition, infrav1.IDNotOursReason)).To(And(
				ContainSubstring(infrav1.Owner(infra.Namespace, infra.Name)), ContainSubstring("remove these annotations")))
			w.Expect(w.listOnHarvester(&kubevirtv1.VirtualMachineList{})).To(HaveField("Items", HaveLen(1)))
			w.delete(copied)
			w.waitForDeletion(copied)
			w.expectComplete(infra, pool, address)
			w.delete(infra)
			w.waitForDeletion(infra)
			w.expectNothingLeft(pool)
		})
	}
}

func TestCopiedMachineWithoutAnnotationsIsCreated(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.start()
	infra := w.machine("a", "zone-1")
	w.waitForProvisioned(infra)
	copied := w.copyOf(infra, "b", func(infra *infrav1.HarvesterMachine) { infra.Spec.ProviderID = "" })
	w.waitForReason(copied, infrav1.MachineCreatedCondition, infrav1.IDNotOursReason)
	w.update(copied, func(now *infrav1.HarvesterMachine) {
		for _, key := range owned.MachineAnnotations() {
			delete(now.Annotations, key)
		}
	})
	w.waitForProvisioned(copied)
	w.Expect(w.latest(copied).Annotations[infrav1.MachineIDAnnotation]).NotTo(Equal(w.latest(infra).Annotations[infrav1.MachineIDAnnotation]))
	w.delete(copied)
	w.waitForDeletion(copied)
	w.Expect(w.vm(infra).DeletionTimestamp).To(BeNil())
	w.Expect(w.claims()).To(HaveLen(1))
}

// The copy has the same name in another management namespace, and the same target namespace on Harvester.
func TestCopiedProviderIDNeitherAdoptsNorDeletes(t *testing.T) {
	t.Parallel()
	one, two := newFixture(t), newFixture(t)
	two.updateCluster(func(infra *infrav1.HarvesterCluster) { infra.Spec.TargetNamespace = one.name })
	one.start()
	first := one.machine("a", "zone-1")
	now := one.waitForProvisioned(first)
	two.start()
	copied := two.machineNamed(first.Name, "zone-1", func(infra *infrav1.HarvesterMachine) { infra.Spec.ProviderID = now.Spec.ProviderID })
	two.waitForReason(copied, infrav1.MachineCreatedCondition, infrav1.VirtualMachineNotOursReason)
	two.delete(copied)
	two.waitForDeletion(copied)
	one.Consistently(func() bool { return one.vm(first).DeletionTimestamp.IsZero() }).Should(BeTrue())
	one.Expect(one.claims()).To(HaveLen(1))
	one.Expect(one.vm(first).Annotations).To(HaveKeyWithValue(infrav1.OwnerAnnotation, infrav1.Owner(first.Namespace, first.Name)))
}
