// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data_test

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
	f := newTemplateFixture(t)
	f.start()
	template, claim := f.template("t"), f.claim("t", "m-1")
	data := f.waitForData(claim)

	f.Expect(data.Name).To(Equal("t-0"))
	f.Expect(data.Spec).To(Equal(infrav1.Metal3DataSpec{
		Claim:       corev1.ObjectReference{Namespace: f.name, Name: "m-1"},
		Template:    corev1.ObjectReference{Namespace: f.name, Name: "t"},
		MetaData:    &corev1.SecretReference{Namespace: f.name, Name: "m-1-metadata"},
		NetworkData: &corev1.SecretReference{Namespace: f.name, Name: "m-1-networkdata"},
	}))
	f.Expect(data.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"))
	f.Expect(data.Finalizers).To(ConsistOf(infrav1.DataClaimFinalizer, infrav1.DataFinalizer))
	f.Expect(metav1.IsControlledBy(data, claim)).To(BeTrue())
	f.Expect(data.OwnerReferences[1].Kind).To(Equal("Metal3Machine"))
	f.Expect(claim.Finalizers).To(ConsistOf(infrav1.MachineFinalizer, infrav1.DataClaimFinalizer))
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Finalizers).To(ConsistOf(infrav1.DataTemplateFinalizer))
		g.Expect(template.Status.Indexes).To(ConsistOf(infrav1.IndexEntry{Name: "m-1", Index: 0}))
	}).Should(Succeed())
}

// Many claims at once, with more created while the first are processed.
func TestManyClaimsGetDifferentIndexes(t *testing.T) {
	t.Parallel()
	const n = 60
	f := newTemplateFixture(t)
	f.start()
	template := f.template("t")
	seen := map[int32]string{}
	var claims []*infrav1.Metal3DataClaim
	for i := range n {
		claims = append(claims, f.claim("t", fmt.Sprintf("m-%d", i)))
	}
	for _, claim := range claims {
		data := f.waitForData(claim)
		f.Expect(seen).NotTo(HaveKey(data.Spec.Index))
		seen[data.Spec.Index] = claim.Name
	}
	for index := range int32(n) {
		f.Expect(seen).To(HaveKey(index))
	}
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
		g.Expect(template.Status.Indexes).To(HaveLen(n))
	}).Should(Succeed())
	datas := &infrav1.Metal3DataList{}
	f.Expect(f.client.List(t.Context(), datas, client.InNamespace(f.name))).To(Succeed())
	f.Expect(datas.Items).To(HaveLen(n), "no claim has two")
}

func TestIndexIsReusedAfterDeletion(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.start()
	f.template("t")
	first, second := f.claim("t", "m-1"), f.claim("t", "m-2")
	data := f.waitForData(first)
	f.waitForData(second)
	f.delete(first)
	f.releaseClaim(first)
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).NotTo(BeNil())
	}).Should(Succeed())
	third := f.claim("t", "m-3")
	f.Expect(f.waitForData(third).Spec.Index).To(Equal(int32(2)), "the addresses are not given back yet")
	f.removeFinalizers(data)
	f.waitForDeletion(first)
	f.Expect(f.waitForData(f.claim("t", "m-4")).Spec.Index).To(Equal(data.Spec.Index))
}

// Deleting the claim of a running machine must not delete its data.
func TestDataIsKeptWhileInUse(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.start()
	f.template("t")
	claim := f.claim("t", "m-1")
	data := f.waitForData(claim)
	f.delete(claim)
	f.Consistently(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(data), data)).To(Succeed())
		g.Expect(data.DeletionTimestamp).To(BeNil())
	}).Should(Succeed())
	// Without the machine controller, its finalizer stays on the claim.
	f.delete(&infrav1.Metal3Machine{ObjectMeta: f.meta("m-1")})
	f.removeFinalizers(data)
	f.waitForDeletion(claim)
}

func TestTemplateWaitsForItsClaims(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.start()
	template := f.template("t")
	claim := f.claim("t", "m-1")
	data := f.waitForData(claim)
	f.delete(template)
	late := f.claim("t", "m-2")
	f.Expect(f.waitForError(late)).To(Equal("Metal3DataTemplate t is being deleted: use another"))
	f.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(template), template)).To(Succeed())
	for _, claim := range []*infrav1.Metal3DataClaim{claim, late} {
		f.delete(claim)
		f.releaseClaim(claim)
	}
	f.waitForDeletion(late)
	f.removeFinalizers(data)
	f.waitForDeletion(claim)
	f.waitForDeletion(template)
}

func TestClaimOfMissingTemplate(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.start()
	claim, other := f.claim("t", "m-1"), f.claim("t", "m-2")
	f.Expect(f.waitForError(claim)).To(Equal("Metal3DataTemplate t does not exist: create it"))
	f.delete(other)
	f.releaseClaim(other)
	f.waitForDeletion(other)
	f.template("t")
	f.waitForData(claim)
	f.Expect(claim.Status.ErrorMessage).To(BeNil())
}

func TestClaimWithoutMachine(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.start()
	f.template("t")
	claim := &infrav1.Metal3DataClaim{ObjectMeta: f.meta("m-1"), Spec: infrav1.Metal3DataClaimSpec{Template: corev1.ObjectReference{Name: "t"}}}
	f.create(claim)
	f.Expect(f.waitForError(claim)).To(HavePrefix("the claim is not owned by a Metal3Machine"))
}

// A cluster is paused while it is moved: its claims have data, but no status until the pause ends.
func TestClaimsOfPausedCluster(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	cluster := &clusterv1.Cluster{ObjectMeta: f.meta("c")}
	pause := func(paused bool) {
		update(f.fixture, cluster, func(cluster *clusterv1.Cluster) { cluster.Spec.Paused = ptr.To(paused) })
	}
	pause(true)
	f.template("t")
	claim := f.claim("t", "m-1")
	moved := &infrav1.Metal3Data{ObjectMeta: f.meta("t-5"), Spec: infrav1.Metal3DataSpec{
		Index: 5, Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: "m-1"},
	}}
	f.create(moved)
	f.start()
	f.Consistently(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.RenderedData).To(BeNil())
	}).Should(Succeed())
	pause(false)
	f.Expect(f.waitForData(claim).Name).To(Equal("t-5"))
}

// Data without a claim would hold its index and its addresses forever.
func TestOrphanedDataIsDeleted(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.start()
	f.template("t")
	orphan := &infrav1.Metal3Data{ObjectMeta: f.meta("t-0"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "t"}, Claim: corev1.ObjectReference{Name: "gone"},
	}}
	f.create(orphan)
	f.waitForDeletion(orphan)
}

// The name is taken by an object that the cache does not list for the template.
func TestTakenName(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	f.create(&infrav1.Metal3Data{ObjectMeta: f.meta("t-0"), Spec: infrav1.Metal3DataSpec{
		Template: corev1.ObjectReference{Name: "another"}, Claim: corev1.ObjectReference{Name: "m-0"},
	}})
	f.claim("another", "m-0")
	f.template("t")
	f.start()
	f.Expect(f.waitForData(f.claim("t", "m-1")).Name).To(Equal("t-1"))
}

// If a manager stops after any of its requests, no claim gets two data, and the next manager continues.
func TestRestartAfterEveryRequest(t *testing.T) {
	t.Parallel()
	for stopAfter := range int32(8) {
		t.Run(fmt.Sprintf("after request %d", stopAfter), func(t *testing.T) {
			t.Parallel()
			f := newTemplateFixture(t)
			f.template("t")
			claims := []*infrav1.Metal3DataClaim{f.claim("t", "m-1"), f.claim("t", "m-2")}
			stop := f.start(failAfter(stopAfter))
			f.Consistently(func() error { return nil }).Should(Succeed())
			stop()
			f.start()
			var indexes []int32
			for _, claim := range claims {
				indexes = append(indexes, f.waitForData(claim).Spec.Index)
			}
			slices.Sort(indexes)
			f.Expect(indexes).To(Equal([]int32{0, 1}))
			datas := &infrav1.Metal3DataList{}
			f.Expect(f.client.List(t.Context(), datas, client.InNamespace(f.name))).To(Succeed())
			f.Expect(datas.Items).To(HaveLen(2))
		})
	}
}

// failAfter passes n writes and rejects all others.
func failAfter(n int32) interceptor.Funcs {
	var writes atomic.Int32
	down := func() error {
		if writes.Add(1) > n {
			return errors.New("the manager has stopped")
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
	f := newTemplateFixture(t)
	f.template("t")
	f.start()
	f.start()
	var claims []*infrav1.Metal3DataClaim
	for i := range n {
		claims = append(claims, f.claim("t", fmt.Sprintf("m-%d", i)))
	}
	owners := map[string]string{}
	for _, claim := range claims {
		data := f.waitForData(claim)
		f.Expect(owners).NotTo(HaveKey(data.Name))
		owners[data.Name] = claim.Name
	}
	datas := &infrav1.Metal3DataList{}
	f.Expect(f.client.List(t.Context(), datas, client.InNamespace(f.name))).To(Succeed())
	f.Expect(datas.Items).To(HaveLen(n), "no claim has two")
	for i := range datas.Items {
		f.Expect(datas.Items[i].Spec.Claim.Name).To(Equal(owners[datas.Items[i].Name]), "claim and data agree")
	}
}

// A quota is reported to the user, and data is created once it is raised.
func TestQuota(t *testing.T) {
	t.Parallel()
	f := newTemplateFixture(t)
	var full atomic.Bool
	full.Store(true)
	f.start(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if full.Load() {
				return apierrors.NewForbidden(infrav1.GroupVersion.WithResource("metal3datas").GroupResource(), o.GetName(), errors.New("exceeded quota"))
			}
			return c.Create(ctx, o, opts...)
		},
	})
	f.template("t")
	claim := f.claim("t", "m-1")
	f.Expect(f.waitForError(claim)).To(ContainSubstring("exceeded quota"))
	full.Store(false)
	f.Expect(f.waitForData(claim).Name).To(Equal("t-0"))
	f.Eventually(func(g Gomega) {
		g.Expect(f.client.Get(t.Context(), client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.ErrorMessage).To(BeNil())
	}).Should(Succeed())
}
