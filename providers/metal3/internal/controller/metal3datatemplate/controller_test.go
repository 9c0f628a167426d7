// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3datatemplate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestClaimGetsData(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	template, claim := w.template("t"), w.claim("t", "m-1")
	data := w.given(claim)

	w.Expect(data.Name).To(Equal("t-0"))
	w.Expect(data.Spec).To(Equal(infrav1.Metal3DataSpec{
		Claim:       corev1.ObjectReference{Namespace: w.name, Name: "m-1"},
		Template:    corev1.ObjectReference{Namespace: w.name, Name: "t"},
		MetaData:    &corev1.SecretReference{Namespace: w.name, Name: "m-1-metadata"},
		NetworkData: &corev1.SecretReference{Namespace: w.name, Name: "m-1-networkdata"},
	}))
	w.Expect(data.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"))
	w.Expect(data.Finalizers).To(ConsistOf(infrav1.DataClaimFinalizer, infrav1.DataFinalizer))
	w.Expect(metav1.IsControlledBy(data, claim)).To(BeTrue())
	w.Expect(data.OwnerReferences[1].Kind).To(Equal("Metal3Machine"))
	w.Expect(claim.Finalizers).To(ConsistOf(infrav1.MachineFinalizer, infrav1.DataClaimFinalizer))
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Finalizers).To(ConsistOf(infrav1.DataTemplateFinalizer))
		g.Expect(template.Status.Indexes).To(ConsistOf(infrav1.IndexEntry{Name: "m-1", Index: 0}))
	}).Should(Succeed())
}

// Many claims at once, with more created while the first are processed.
func TestManyClaimsGetDifferentIndexes(t *testing.T) {
	t.Parallel()
	const n = 60
	w := newWorld(t)
	w.start()
	template := w.template("t")
	seen := map[int32]string{}
	var claims []*infrav1.Metal3DataClaim
	for i := range n {
		claims = append(claims, w.claim("t", fmt.Sprintf("m-%d", i)))
	}
	for _, claim := range claims {
		data := w.given(claim)
		w.Expect(seen).NotTo(HaveKey(data.Spec.Index))
		seen[data.Spec.Index] = claim.Name
	}
	for index := range int32(n) {
		w.Expect(seen).To(HaveKey(index))
	}
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Status.Indexes).To(HaveLen(n))
	}).Should(Succeed())
	datas := &infrav1.Metal3DataList{}
	w.Expect(w.client.List(t.Context(), datas, client.InNamespace(w.name))).To(Succeed())
	w.Expect(datas.Items).To(HaveLen(n), "no claim has two")
}

func TestIndexIsFreeWhenTheDataIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template("t")
	first, second := w.claim("t", "m-1"), w.claim("t", "m-2")
	data := w.given(first)
	w.given(second)
	w.remove(first)
	w.letGo(first)
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed())
	third := w.claim("t", "m-3")
	w.Expect(w.given(third).Spec.Index).To(Equal(int32(2)), "the addresses are not given back yet")
	w.finish(data)
	w.gone(first)
	w.Expect(w.given(w.claim("t", "m-4")).Spec.Index).To(Equal(data.Spec.Index))
}

// Deleting the claim of a running machine must not delete its data.
func TestDataStaysAsLongAsTheMachineNeedsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template("t")
	claim := w.claim("t", "m-1")
	data := w.given(claim)
	w.remove(claim)
	w.Consistently(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).To(BeNil())
	}).Should(Succeed())
	// Without the machine controller, its finalizer stays on the claim.
	w.remove(&infrav1.Metal3Machine{ObjectMeta: w.meta("m-1")})
	w.finish(data)
	w.gone(claim)
}

func TestTemplateWaitsForItsClaims(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	template := w.template("t")
	claim := w.claim("t", "m-1")
	data := w.given(claim)
	w.remove(template)
	late := w.claim("t", "m-2")
	w.Expect(w.refused(late)).To(Equal("Metal3DataTemplate t is being deleted: use another"))
	w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	for _, claim := range []*infrav1.Metal3DataClaim{claim, late} {
		w.remove(claim)
		w.letGo(claim)
	}
	w.gone(late)
	w.finish(data)
	w.gone(claim)
	w.gone(template)
}

func TestTemplateThatIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	claim, other := w.claim("t", "m-1"), w.claim("t", "m-2")
	w.Expect(w.refused(claim)).To(Equal("Metal3DataTemplate t does not exist: create it"))
	w.remove(other)
	w.letGo(other)
	w.gone(other)
	w.template("t")
	w.given(claim)
	w.Expect(claim.Status.ErrorMessage).To(BeNil())
}

func TestClaimOfNoMachine(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template("t")
	claim := &infrav1.Metal3DataClaim{ObjectMeta: w.meta("m-1"), Spec: infrav1.Metal3DataClaimSpec{Template: corev1.ObjectReference{Name: "t"}}}
	w.create(claim)
	w.Expect(w.refused(claim)).To(HavePrefix("no Metal3Machine owns the claim"))
}

// A cluster is paused while it is moved: its claims have data, but no status until the pause ends.
func TestClaimsOfAPausedClusterAreLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	cluster := &clusterv1.Cluster{ObjectMeta: w.meta("c")}
	pause := func(paused bool) {
		update(w, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(paused) })
	}
	pause(true)
	w.template("t")
	claim := w.claim("t", "m-1")
	moved := &infrav1.Metal3Data{ObjectMeta: w.meta("t-5"), Spec: infrav1.Metal3DataSpec{
		Index: 5, Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: "m-1"},
	}}
	w.create(moved)
	w.start()
	w.Consistently(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.RenderedData).To(BeNil())
	}).Should(Succeed())
	pause(false)
	w.Expect(w.given(claim).Name).To(Equal("t-5"))
}

// Data without a claim would hold its index and its addresses forever.
func TestOrphanedDataGoes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.start()
	w.template("t")
	orphan := &infrav1.Metal3Data{ObjectMeta: w.meta("t-0"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: "gone"},
	}}
	w.create(orphan)
	w.gone(orphan)
}

// The name is taken by an object that the cache does not list for the template.
func TestNameThatIsTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.create(&infrav1.Metal3Data{ObjectMeta: w.meta("t-0"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "another"}, Claim: corev1.ObjectReference{Name: "m-0"},
	}})
	w.claim("another", "m-0")
	w.template("t")
	w.start()
	w.Expect(w.given(w.claim("t", "m-1")).Name).To(Equal("t-1"))
}

// If a manager stops after any of its requests, no claim gets two data, and the next manager continues.
func TestRestartAfterEveryRequest(t *testing.T) {
	t.Parallel()
	for stopAfter := range int32(8) {
		t.Run(fmt.Sprintf("after request %d", stopAfter), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.template("t")
			claims := []*infrav1.Metal3DataClaim{w.claim("t", "m-1"), w.claim("t", "m-2")}
			stop := w.start(failAfter(stopAfter))
			w.Consistently(func() error { return nil }).Should(Succeed())
			stop()
			w.start()
			var indexes []int32
			for _, claim := range claims {
				indexes = append(indexes, w.given(claim).Spec.Index)
			}
			slices.Sort(indexes)
			w.Expect(indexes).To(Equal([]int32{0, 1}))
			datas := &infrav1.Metal3DataList{}
			w.Expect(w.client.List(t.Context(), datas, client.InNamespace(w.name))).To(Succeed())
			w.Expect(datas.Items).To(HaveLen(2))
		})
	}
}

// failAfter passes n writes and rejects all others.
func failAfter(n int32) interceptor.Funcs {
	var writes atomic.Int32
	down := func() error {
		if writes.Add(1) > n {
			return errors.New("the manager is gone")
		}
		return nil
	}
	return interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if err := down(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := down(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := down(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	}
}

// During a change of leadership two managers may be active, each with its own cache.
func TestTwoManagers(t *testing.T) {
	t.Parallel()
	const n = 40
	w := newWorld(t)
	w.template("t")
	w.start()
	w.start()
	var claims []*infrav1.Metal3DataClaim
	for i := range n {
		claims = append(claims, w.claim("t", fmt.Sprintf("m-%d", i)))
	}
	owners := map[string]string{}
	for _, claim := range claims {
		data := w.given(claim)
		w.Expect(owners).NotTo(HaveKey(data.Name))
		owners[data.Name] = claim.Name
	}
	datas := &infrav1.Metal3DataList{}
	w.Expect(w.client.List(t.Context(), datas, client.InNamespace(w.name))).To(Succeed())
	w.Expect(datas.Items).To(HaveLen(n), "no claim has two")
	for i := range datas.Items {
		w.Expect(datas.Items[i].Spec.Claim.Name).To(Equal(owners[datas.Items[i].Name]), "claim and data agree")
	}
}

// A quota is reported to the user, and data is created once it is raised.
func TestQuota(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var full atomic.Bool
	full.Store(true)
	w.start(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if full.Load() {
				return apierrors.NewForbidden(infrav1.GroupVersion.WithResource("metal3datas").GroupResource(), o.GetName(), errors.New("exceeded quota"))
			}
			return c.Create(ctx, o, opts...)
		},
	})
	w.template("t")
	claim := w.claim("t", "m-1")
	w.Expect(w.refused(claim)).To(ContainSubstring("exceeded quota"))
	full.Store(false)
	w.Expect(w.given(claim).Name).To(Equal("t-0"))
	w.Eventually(func(g Gomega) {
		g.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.ErrorMessage).To(BeNil())
	}).Should(Succeed())
}
