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
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/reconcile"
)

const finalizer = "test.infrastructure.cluster.x-k8s.io/address"

// fixture is a machine that claims an address from pool p.
type fixture struct {
	*WithT
	t       *testing.T
	client  client.WithWatch
	owner   ipamclaim.Owner
	machine *providertest.Machine
	user    string
}

func newFixture(t *testing.T, objects ...client.Object) *fixture {
	t.Helper()
	s := &fixture{WithT: NewWithT(t), t: t}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamclusterv1.AddToScheme, providertest.AddToScheme} {
		s.Expect(add(scheme)).To(Succeed())
	}
	kind := providertest.GroupVersion.WithKind("Machine")
	s.machine = &providertest.Machine{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "m", UID: "1", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"},
	}}
	s.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).
		WithIndex(&ipamclusterv1.IPAddressClaim{}, ipamclaim.OwnerIndex, ipamclaim.ByOwner(kind.GroupKind())).Build()
	s.owner = ipamclaim.Owner{
		Client: s.client, Object: s.machine, Kind: kind, Finalizer: finalizer,
		User: func(context.Context) (string, error) { return s.user, nil },
	}
	return s
}

func pool() ipamclusterv1.IPPoolReference {
	return ipamclusterv1.IPPoolReference{APIGroup: "ipam.example.com", Kind: "Pool", Name: "p"}
}

func (s *fixture) address() ipamclaim.Answer {
	s.t.Helper()
	answer, err := s.owner.Address(s.t.Context(), "m-p", pool())
	s.Expect(err).NotTo(HaveOccurred())
	return answer
}

// claim returns the machine's claim; nil if it was deleted.
func (s *fixture) claim() *ipamclusterv1.IPAddressClaim {
	s.t.Helper()
	claim := &ipamclusterv1.IPAddressClaim{}
	err := s.client.Get(s.t.Context(), client.ObjectKey{Namespace: "ns", Name: "m-p"}, claim)
	if apierrors.IsNotFound(err) {
		return nil
	}
	s.Expect(err).NotTo(HaveOccurred())
	return claim
}

func (s *fixture) change(change func(*ipamclusterv1.IPAddressClaim)) {
	s.t.Helper()
	claim := s.claim()
	change(claim)
	s.Expect(s.client.Update(s.t.Context(), claim)).To(Succeed())
}

func TestAddress(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.Expect(s.address()).To(BeZero())
	claim := s.claim()
	s.Expect(claim.Spec).To(Equal(ipamclusterv1.IPAddressClaimSpec{ClusterName: "c", PoolRef: pool()}))
	s.Expect(claim.Finalizers).To(Equal([]string{finalizer}))
	s.Expect(metav1.GetControllerOf(claim)).To(HaveField("UID", s.machine.UID))
	s.Expect(claim.Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"))

	s.change(func(c *ipamclusterv1.IPAddressClaim) { c.CreationTimestamp = metav1.Now() })
	s.Expect(s.address().RetryAfter).To(BeNumerically("~", ipamclaim.Timeout, 10*time.Second), "no event follows")
	s.change(func(c *ipamclusterv1.IPAddressClaim) { c.Status.AddressRef.Name = "p-1" })
	s.Expect(s.address().Address).To(BeNil(), "the cache is late")
	s.Expect(s.client.Create(t.Context(), &ipamclusterv1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-1"}, Spec: ipamclusterv1.IPAddressSpec{Address: "10.0.0.7", Prefix: ptr.To[int32](24)},
	})).To(Succeed())
	s.Expect(s.address().Address).To(HaveField("Address", "10.0.0.7"))
}

func TestAddressProblems(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.address()
	s.change(func(c *ipamclusterv1.IPAddressClaim) {
		c.CreationTimestamp = metav1.NewTime(time.Now().Add(-time.Hour))
	})
	s.Expect(s.address()).To(Equal(ipamclaim.Answer{
		Problem: "Pool p has not allocated an address to IPAddressClaim m-p for 1m0s: check that the pool exists and that its provider runs"}))
	s.change(func(c *ipamclusterv1.IPAddressClaim) {
		c.Status.Conditions = []metav1.Condition{{Type: ipamclusterv1.IPAddressClaimReadyCondition, Status: metav1.ConditionFalse, Reason: "PoolExhausted", Message: "no address is free"}}
	})
	s.Expect(s.address()).To(Equal(ipamclaim.Answer{Problem: "Pool p allocates no address: PoolExhausted: no address is free"}))
}

func TestRejectedClaimIsTerminalError(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.owner.Client = interceptor.NewClient(s.client, interceptor.Funcs{
		Create: func(context.Context, client.WithWatch, client.Object, ...client.CreateOption) error {
			return apierrors.NewForbidden(schema.GroupResource{Resource: "ipaddressclaims"}, "m-p", errors.New("exceeded quota: q"))
		},
	})
	_, err := s.owner.Address(t.Context(), "m-p", pool())
	var refused *reconcile.RejectedError
	s.Expect(errors.As(err, &refused)).To(BeTrue())
	s.Expect(refused.Error()).To(And(HavePrefix("the API server rejects IPAddressClaim m-p: "), HaveSuffix("raise the ResourceQuota, or delete unused objects")))
}

func TestDeletedClaim(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.address()
	s.Expect(s.client.Delete(t.Context(), s.claim())).To(Succeed())
	s.user = "host h"
	s.Expect(s.address().Problem).To(Equal("IPAddressClaim m-p is being deleted, but host h still uses its address: delete the Machine to release it"))
	s.Expect(s.claim()).NotTo(BeNil())
	s.user = ""
	s.Expect(s.address().Problem).To(ContainSubstring("its address is claimed again after the deletion"))
	s.Expect(s.claim()).To(BeNil())
	s.Expect(s.address()).To(BeZero())
	s.Expect(s.claim()).NotTo(BeNil(), "claimed anew")
}

func TestClaimOfAnotherOwner(t *testing.T) {
	t.Parallel()
	former := &providertest.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "former", UID: "0"}}
	s := newFixture(t, former)
	theirs := s.owner
	theirs.Object = former
	_, err := theirs.Address(t.Context(), "m-p", pool())
	s.Expect(err).NotTo(HaveOccurred())
	const told = "IPAddressClaim m-p belongs to Machine former: wait until that is deleted"
	s.Expect(s.address().Problem).To(Equal(told))
	s.Expect(s.client.Delete(t.Context(), s.claim())).To(Succeed())
	s.Expect(s.address().Problem).To(Equal(told))
	s.Expect(s.claim()).NotTo(BeNil(), "its owner is there and will release it")
	s.Expect(s.client.Delete(t.Context(), former)).To(Succeed())
	s.Expect(s.address().Problem).To(Equal(told))
	s.Expect(s.claim()).To(BeNil(), "no other claim would have")
}

func TestReleaseAll(t *testing.T) {
	t.Parallel()
	s := newFixture(t)
	s.address()
	other := s.owner
	other.Object = &providertest.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other", UID: "2"}}
	_, err := other.Address(t.Context(), "other-p", pool())
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(s.owner.ReleaseAll(t.Context())).To(Succeed())
	s.Expect(s.owner.ReleaseAll(t.Context())).To(Succeed())
	left := &ipamclusterv1.IPAddressClaimList{}
	s.Expect(s.client.List(t.Context(), left)).To(Succeed())
	s.Expect(left.Items).To(ConsistOf(HaveField("Name", "other-p")))
}
