// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch_test

import (
	"context"
	"errors"
	"testing"

	"github.com/go-logr/logr"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	"github.com/faultline-io/faultline/shared/watch"
)

func machine(name, cluster string) *clusterv1.Machine {
	return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: name, ResourceVersion: "1", Labels: map[string]string{clusterv1.ClusterNameLabel: cluster},
	}}
}

func TestNotStatusOnly(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*clusterv1.Machine)
		passes bool
	}{
		"status":     {func(m *clusterv1.Machine) { m.Status.Phase = "Running" }, false},
		"spec":       {func(m *clusterv1.Machine) { m.Generation++ }, true},
		"label":      {func(m *clusterv1.Machine) { m.Labels["a"] = "b" }, true},
		"annotation": {func(m *clusterv1.Machine) { m.Annotations = map[string]string{"a": "b"} }, true},
		"owner":      {func(m *clusterv1.Machine) { m.OwnerReferences = []metav1.OwnerReference{{Name: "o"}} }, true},
		"finalizer":  {func(m *clusterv1.Machine) { m.Finalizers = []string{"f"} }, false},
		"resync":     {func(m *clusterv1.Machine) { m.ResourceVersion = "1" }, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := machine("m", "c"), machine("m", "c")
			after.ResourceVersion = "2"
			tc.change(after)
			NewWithT(t).Expect(watch.SpecOrMetadataChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(tc.passes))
		})
	}
}

func TestCreatesOnlyAndDeletesOnly(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	m := machine("m", "c")
	for _, only := range []bool{true, false} {
		p := watch.Created()
		if !only {
			p = watch.Deleted()
		}
		g.Expect(p.Create(event.CreateEvent{Object: m})).To(Equal(only))
		g.Expect(p.Delete(event.DeleteEvent{Object: m})).To(Equal(!only))
		g.Expect(p.Update(event.UpdateEvent{ObjectOld: m, ObjectNew: m})).To(BeFalse())
		g.Expect(p.Generic(event.GenericEvent{Object: m})).To(BeFalse())
	}
}

func TestClusterPredicates(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	plain, paused, provisioned := &clusterv1.Cluster{}, &clusterv1.Cluster{}, &clusterv1.Cluster{}
	paused.Spec.Paused = ptr.To(true)
	provisioned.Status.Initialization.InfrastructureProvisioned = ptr.To(true)
	changes, progress := watch.ClusterPausedOrCreated(scheme, logr.Discard()), watch.ClusterProgressed(scheme, logr.Discard())
	for _, p := range []predicate.Predicate{changes, progress} {
		g.Expect(p.Create(event.CreateEvent{Object: plain})).To(BeTrue(), "objects may be cached before their Cluster")
		g.Expect(p.Update(event.UpdateEvent{ObjectOld: plain, ObjectNew: paused})).To(BeTrue())
		g.Expect(p.Update(event.UpdateEvent{ObjectOld: paused, ObjectNew: plain})).To(BeTrue())
		g.Expect(p.Update(event.UpdateEvent{ObjectOld: plain, ObjectNew: plain})).To(BeFalse())
		g.Expect(p.Delete(event.DeleteEvent{Object: plain})).To(BeFalse())
	}
	infrastructure := event.UpdateEvent{ObjectOld: plain, ObjectNew: provisioned}
	g.Expect(changes.Update(infrastructure)).To(BeFalse())
	g.Expect(progress.Update(infrastructure)).To(BeTrue())
}

func TestRequests(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	elsewhere := machine("elsewhere", "one")
	elsewhere.Namespace = "other"
	broken := false
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine("a", "one"), machine("b", "one"), machine("c", "two"), elsewhere).
		WithInterceptorFuncs(interceptor.Funcs{List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			if broken {
				return errors.New("no answer")
			}
			return c.List(ctx, list, opts...)
		}}).Build()
	request := func(name string) ctrl.Request {
		return ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: name}}
	}
	infra := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "infra"}}
	ask := func(keep func(*clusterv1.Machine) bool) []ctrl.Request {
		return watch.Requests(t.Context(), c, &clusterv1.MachineList{}, keep, watch.OfInfrastructure(infra))
	}
	g.Expect(ask(nil)).To(BeEmpty(), "it has no Cluster yet")
	infra.Labels = map[string]string{clusterv1.ClusterNameLabel: "two"}
	g.Expect(ask(nil)).To(ConsistOf(request("c")))
	infra.OwnerReferences = []metav1.OwnerReference{{Kind: "Cluster", Name: "one"}}
	g.Expect(ask(nil)).To(ConsistOf(request("a"), request("b")))
	g.Expect(ask(func(m *clusterv1.Machine) bool { return m.Name == "b" })).To(ConsistOf(request("b")))
	broken = true
	g.Expect(ask(nil)).To(BeEmpty())
}

func TestInfraClusters(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	infra := func(namespace, name, cluster string) *clusterv1.Cluster { // of any kind
		return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}}
	}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(infra("ns", "a", "one"), infra("ns", "b", "two"), infra("other", "a", "one")).Build()
	ours := watch.InfraClusters(c, &clusterv1.ClusterList{})
	for range 2 { // the list is still empty
		g.Expect(ours(t.Context(), machine("m", "one"))).To(ConsistOf(ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "a"}}))
		g.Expect(ours(t.Context(), machine("m", "gone"))).To(BeEmpty())
	}
	g.Expect(ours(t.Context(), machine("m", ""))).To(BeEmpty())
}
