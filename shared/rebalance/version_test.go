// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/machines"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/watch"
)

func inventoryKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "Provider"}
}

// install adds a provider with a version to the inventory.
func (w *fixture) install(name, kind, version string) *unstructured.Unstructured {
	w.t.Helper()
	entry := &unstructured.Unstructured{Object: map[string]any{"providerName": name, "type": kind, "version": version}}
	entry.SetGroupVersionKind(inventoryKind())
	entry.SetNamespace(w.name)
	entry.SetGenerateName("provider-")
	w.create(entry)
	return entry
}

func (w *fixture) upgrade(entry *unstructured.Unstructured, version string) {
	w.t.Helper()
	entry.Object["version"] = version
	w.Expect(w.client.Update(w.t.Context(), entry)).To(Succeed())
}

func TestTestedVersions(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	for version, tested := range map[string]bool{
		machines.Kubeadm{}.Facts().OldestTested: true, "v1.14.3": true, "v1.14.20": true, "v1.14.3-rc.0": true, "v1.14.2+vendor.1": true,
		"v1.14.1": false, "v1.14.2-rc.0": false, "v1.13.9": false, "v1.15.0": false, "v1.15.0-alpha.0": false, "v2.14.2": false, "": false, "main": false,
	} {
		g.Expect(machines.Kubeadm{}.Facts().Tested(version)).To(Equal(tested), version)
	}
}

func TestUntestedVersion(t *testing.T) {
	t.Parallel()
	const kubeadm, controlPlane = "kubeadm", "ControlPlaneProvider"
	for name, tc := range map[string]struct {
		installed [][3]string
		declared  string
		refused   string
	}{
		"a tested one":                     {installed: [][3]string{{kubeadm, controlPlane, "v1.14.5"}}},
		"a newer one":                      {installed: [][3]string{{kubeadm, controlPlane, "v1.15.0"}}, refused: "has version v1.15.0"},
		"an older patch":                   {installed: [][3]string{{kubeadm, controlPlane, "v1.14.1"}}, refused: "has version v1.14.1"},
		"two, and one is not tested":       {installed: [][3]string{{kubeadm, controlPlane, "v1.14.2"}, {kubeadm, controlPlane, "v1.13.0"}}, refused: "has version v1.13.0"},
		"others only":                      {installed: [][3]string{{kubeadm, "BootstrapProvider", "v1.14.2"}, {"rke2", controlPlane, "v1.14.2"}}, refused: "is unknown"},
		"none":                             {refused: "--kubeadm-control-plane-version"},
		"none, and the flag names one":     {declared: "v1.14.2"},
		"none, and the flag names another": {declared: "v1.12.0", refused: "has version v1.12.0"},
		"the flag names a wrong one":       {installed: [][3]string{{kubeadm, controlPlane, "v1.15.0"}}, declared: "v1.14.2", refused: "has version v1.15.0"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "aab", "abc")
			w.declared = tc.declared
			for _, entry := range tc.installed {
				w.install(entry[0], entry[1], entry[2])
			}
			w.reconcile()
			if tc.refused == "" {
				w.condition(metav1.ConditionFalse, faultlinev1.ReasonMoving)
				return
			}
			w.Expect(w.marked()).To(BeEmpty())
			w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneVersionNotTested)).To(And(
				ContainSubstring(tc.refused), ContainSubstring("RolloutAfter or Advise"), ContainSubstring("Machine m0 from a to c")))
		})
	}
}

func TestUntestedVersionCondition(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "abc", "abc")
	w.declared = "v1.15.0"
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(ContainSubstring("v1.15.0"))
	infra := w.infra()
	infra.Spec.Distribution.ControlPlane.Rebalance = faultlinev1.ControlPlaneRebalanceAdvise
	w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	w.reconcile()
	w.Expect(w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)).To(BeEmpty())
}

func TestUpgradeAbortsMove(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "aab", "abc")
	entry := w.install("kubeadm", "ControlPlaneProvider", "v1.14.2")
	w.reconcile()
	w.Expect(w.marked()).To(Equal([]string{"m0"}))
	w.upgrade(entry, "v1.15.0")
	w.reconcile()
	w.Expect(w.marked()).To(BeEmpty())
	w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlaneVersionNotTested)
}

func TestInventoryChanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t, "abc", "abc")
	entry := w.install("kubeadm", "ControlPlaneProvider", "v1.14.2")
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	integration.Start(t, apiServer, nil, options, func(ctx context.Context, mgr ctrl.Manager) error {
		r := w.reconciler(mgr.GetClient())
		return r.SetupWithManager(ctx, mgr, "", watch.Concurrency(1))
	})
	says := func(message OmegaMatcher) {
		t.Helper()
		w.Eventually(func(g Gomega) {
			infra := w.infra()
			g.Expect(conditions.IsTrue(infra, faultlinev1.ControlPlaneBalancedCondition)).To(BeTrue())
			g.Expect(conditions.GetMessage(infra, faultlinev1.ControlPlaneBalancedCondition)).To(message)
		}).WithTimeout(2 * time.Minute).WithPolling(20 * time.Millisecond).Should(Succeed())
	}
	says(BeEmpty())
	w.upgrade(entry, "v1.15.0")
	says(ContainSubstring("v1.15.0"))
	w.upgrade(entry, "v1.14.3")
	says(BeEmpty())
}
