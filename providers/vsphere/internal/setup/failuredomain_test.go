// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

func (w *fixture) owners(domain string) []metav1.OwnerReference {
	w.t.Helper()
	object := &infrav1.VSphereFailureDomain{}
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKey{Name: domain}, object)).To(Succeed())
	return object.OwnerReferences
}

func ownedBy(zone *infrav1.VSphereDeploymentZone) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: infrav1.GroupVersion.String(), Kind: "VSphereDeploymentZone", Name: zone.Name, UID: zone.UID}
}

func TestFailureDomainIsDeletedWithLastZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	ctx := t.Context()
	w.cluster("one")
	first := w.threeZones()[0]
	domain := first.Spec.FailureDomain
	second := first.DeepCopy()
	second.ObjectMeta = metav1.ObjectMeta{Name: first.Name + "-workers", Labels: first.Labels}
	w.Expect(w.client.Create(ctx, second)).To(Succeed())
	w.Eventually(func() []metav1.OwnerReference { return w.owners(domain) }).Should(ConsistOf(ownedBy(first), ownedBy(second)))

	// Removed references are restored; references with upstream's version, or from a restored backup, are corrected.
	object := &infrav1.VSphereFailureDomain{}
	w.Eventually(func() error {
		if err := w.client.Get(ctx, client.ObjectKey{Name: domain}, object); err != nil {
			return err
		}
		older := ownedBy(first)
		older.APIVersion, older.UID = infrav1.GroupVersion.Group+"/v1beta1", "of-another-time"
		object.OwnerReferences = []metav1.OwnerReference{older}
		return w.client.Update(ctx, object)
	}).Should(Succeed())
	w.Eventually(func() []metav1.OwnerReference { return w.owners(domain) }).Should(ConsistOf(ownedBy(first), ownedBy(second)))

	w.Expect(w.client.Delete(ctx, first)).To(Succeed())
	w.waitForDeletion(first)
	w.Expect(w.owners(domain)).To(ConsistOf(ownedBy(second)), "it is still the other zone's")
	w.Expect(w.client.Delete(ctx, second)).To(Succeed())
	w.waitForDeletion(second)
	w.Expect(apierrors.IsNotFound(w.client.Get(ctx, client.ObjectKey{Name: domain}, object))).To(BeTrue())
}

func TestZoneWithoutFailureDomainCanBeDeleted(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	w.cluster("one")
	zone := w.threeZones()[0]
	domain := &infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zone.Spec.FailureDomain}}
	w.Eventually(func() []metav1.OwnerReference { return w.owners(domain.Name) }).ShouldNot(BeEmpty())
	w.Expect(w.client.Delete(t.Context(), domain)).To(Succeed())
	w.waitForDeletion(domain)
	w.Expect(w.client.Delete(t.Context(), zone)).To(Succeed())
	w.waitForDeletion(zone)
}

func TestFailureDomainIsDeletedAfterLastMachine(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	ctx := t.Context()
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	machine := w.machine("one", "cp-a", zones[0].Name)
	w.waitForProvisioned(machine)
	w.Expect(w.client.Delete(ctx, zones[0])).To(Succeed())
	w.Consistently(func() []metav1.OwnerReference { return w.owners(zones[0].Spec.FailureDomain) }, "300ms").Should(ConsistOf(ownedBy(zones[0])), "a machine is in it")
	w.remove(machine)
	w.waitForDeletion(zones[0])
	w.waitForDeletion(&infrav1.VSphereFailureDomain{ObjectMeta: metav1.ObjectMeta{Name: zones[0].Spec.FailureDomain}})
}
