// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package ipamclaim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/shared/ipamclaim"
)

// held requests an address that is in use.
func (s *fixture) held() ipamclaim.Answer {
	s.t.Helper()
	answer, err := s.owner.AddressInUse(s.t.Context(), "m-p", pool())
	s.Expect(err).NotTo(HaveOccurred())
	return answer
}

func TestHeldAddressWithoutClaim(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.Expect(s.held().Problem).To(HavePrefix("IPAddressClaim m-p was deleted"))
	s.Expect(s.claim()).To(BeNil())
	s.address()
	s.change(func(c *ipamclusterv1.IPAddressClaim) {
		c.CreationTimestamp, c.Status.AddressRef.Name = metav1.Now(), "p-1"
	})
	s.Expect(s.client.Create(t.Context(), &ipamclusterv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-1"},
		Spec: ipamclusterv1.IPAddressSpec{Address: "10.0.0.7"}})).To(Succeed())
	s.Expect(s.held().Address).To(HaveField("Address", "10.0.0.7"))
}

func TestOrphanedClaimIsAdopted(t *testing.T) {
	t.Parallel()
	stale := metav1.OwnerReference{APIVersion: "test.infrastructure.cluster.x-k8s.io/v1", Kind: "Machine", Name: "m", UID: "older"}
	made := &ipamclusterv1.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m-p"}, Spec: ipamclusterv1.IPAddressClaimSpec{PoolRef: pool()}}
	s := newFixture(t, made)
	stale.APIVersion = s.owner.Kind.GroupVersion().String()
	for _, owners := range [][]metav1.OwnerReference{nil, {stale}, {{APIVersion: stale.APIVersion, Kind: "Machine", Name: "m", UID: s.machine.UID}}} {
		s.change(func(c *ipamclusterv1.IPAddressClaim) {
			c.OwnerReferences, c.Finalizers, c.CreationTimestamp = owners, nil, metav1.Now()
		})
		s.address()
		s.Expect(s.claim().Finalizers).To(ConsistOf(finalizer))
		s.Expect(s.claim().OwnerReferences).To(ConsistOf(HaveField("UID", s.machine.UID)))
	}
}

func TestClaimOfAnotherPool(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.address()
	s.change(func(c *ipamclusterv1.IPAddressClaim) { c.Spec.PoolRef.Name = "other" })
	s.user = "host h"
	s.Expect(s.address().Problem).To(Equal("IPAddressClaim m-p refers to Pool other, not to Pool p, and host h uses its address: replace the Machine"))
	s.Expect(s.claim()).NotTo(BeNil())
	s.user = ""
	s.Expect(s.address().Problem).To(ContainSubstring("an address is claimed again after the claim is deleted"))
	s.Expect(s.claim()).To(BeNil())
	s.Expect(s.address()).To(BeZero())
	s.Expect(s.claim().Spec.PoolRef).To(Equal(pool()))
}

func TestAddressOfAnotherClaim(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.address()
	s.change(func(c *ipamclusterv1.IPAddressClaim) { c.Status.AddressRef.Name = "p-1" })
	s.Expect(s.client.Create(t.Context(), &ipamclusterv1.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-1"},
		Spec: ipamclusterv1.IPAddressSpec{Address: "10.0.0.7", ClaimRef: ipamclusterv1.IPAddressClaimReference{Name: "theirs"}}})).To(Succeed())
	s.Expect(s.address()).To(Equal(ipamclaim.Answer{
		Problem: "Pool p assigned IPAddress p-1 of theirs to IPAddressClaim m-p: delete the claim, or repair the pool's provider"}))
}

func TestReleaseNamed(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.address()
	theirs := &ipamclusterv1.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "theirs"}}
	s.Expect(s.client.Create(t.Context(), theirs)).To(Succeed())
	s.Expect(s.owner.ReleaseNamed(t.Context(), s.client, "m-p", "theirs", "none")).To(Succeed())
	s.Expect(s.claim()).To(BeNil())
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(theirs), theirs)).To(Succeed(), "it has no owner, or another one")
}

func TestUnresponsivePool(t *testing.T) {
	t.Parallel()
	kind := schema.GroupVersionKind{Group: "ipam.example.com", Version: "v1", Kind: "Pool"}
	withFree := func(scope meta.RESTScope, free int64) *unstructured.Unstructured {
		found := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"ipAddresses": map[string]any{"free": free}}}}
		found.SetGroupVersionKind(kind)
		found.SetName("p")
		if scope == meta.RESTScopeNamespace {
			found.SetNamespace("ns")
		}
		return found
	}
	const silent = "Pool p has not allocated an address to IPAddressClaim m-p for 1m0s: check that the pool exists and that its provider runs"
	for name, tc := range map[string]struct {
		scope meta.RESTScope
		pool  *unstructured.Unstructured
		err   error
		says  string
	}{
		"no API":            {says: "no API is installed for Pool p of ipam.example.com: install the IPAM provider of this kind, or name another pool"},
		"no pool":           {scope: meta.RESTScopeNamespace, says: "Pool p does not exist: create it, or name another pool"},
		"exhausted":         {scope: meta.RESTScopeNamespace, pool: withFree(meta.RESTScopeNamespace, 0), says: "Pool p has no free address: enlarge it, or delete Machines that use one"},
		"exhausted, global": {scope: meta.RESTScopeRoot, pool: withFree(meta.RESTScopeRoot, 0), says: "Pool p has no free address: enlarge it, or delete Machines that use one"},
		"free":              {scope: meta.RESTScopeNamespace, pool: withFree(meta.RESTScopeNamespace, 3), says: silent},
		"may not be read":   {scope: meta.RESTScopeNamespace, err: apierrors.NewForbidden(schema.GroupResource{}, "p", errors.New("no")), says: silent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newFixture(t)
			s.address()
			s.change(func(c *ipamclusterv1.IPAddressClaim) {
				c.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
			})
			mapper := meta.NewDefaultRESTMapper([]schema.GroupVersion{kind.GroupVersion()})
			scheme := runtime.NewScheme()
			if tc.scope != nil {
				mapper.Add(kind, tc.scope)
				scheme.AddKnownTypeWithName(kind, &unstructured.Unstructured{})
			}
			pools := fake.NewClientBuilder().WithScheme(scheme).WithRESTMapper(mapper)
			if tc.pool != nil {
				pools = pools.WithObjects(tc.pool)
			}
			s.owner.Pools = interceptor.NewClient(pools.Build(), interceptor.Funcs{
				Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
					if tc.err != nil {
						return tc.err
					}
					return c.Get(ctx, key, o, opts...)
				},
			})
			s.owner.Client = mapped{s.client, mapper}
			s.Expect(s.address()).To(Equal(ipamclaim.Answer{Problem: tc.says, RetryAfter: ipamclaim.Timeout}))
		})
	}
}

// mapped is a client with another REST mapper.
type mapped struct {
	client.Client
	mapper meta.RESTMapper
}

func (m mapped) RESTMapper() meta.RESTMapper { return m.mapper }
