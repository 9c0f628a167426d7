// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
)

// inNamespace lists only the LoadBalancers of one namespace, to ignore those of other tests.
type inNamespace struct {
	client.Reader
	namespace string
}

func (r inNamespace) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if _, ok := list.(*lbv1.LoadBalancerList); ok {
		opts = append(opts, client.InNamespace(r.namespace))
	}
	return r.Reader.List(ctx, list, opts...)
}

// migrate runs the migration before any allocation, as a new leader does.
func (w *fixture) migrate(recorder events.EventRecorder) func(*controllers.LoadBalancerReconciler) {
	return func(r *controllers.LoadBalancerReconciler) {
		live := inNamespace{r.Live, w.name}
		takeover := migration.New(r.Client, live, ipam.NewAllocator(r.Client, live), recorder)
		r.Addresses = takeover
		go func() { _ = takeover.Start(w.t.Context()) }()
	}
}

func TestInvalidPoolNameDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	for name, pool := range map[string]string{"a name with a namespace": "a/b", "a path": "..", "a name that does not fit into a URL": "50%"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := emptyFixture(t)
			given := w.pool("a", 4)
			w.balancer("odd", forCluster, func(lb *lbv1.LoadBalancer) {
				lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IP: "10.9.9.9", IPPool: pool}
			})
			other := w.balancer("other", forCluster)
			w.start(w.migrate(&events.FakeRecorder{}))
			w.waitForMessage(other, "")
			w.Expect(other.Status.AllocatedAddress.IP).To(Equal(first(given, 0)))
		})
	}
}

func TestBrokenPoolDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	given, broken := w.pool("a", 4), w.pool("broken", 4)
	w.balancer("odd", forCluster, func(lb *lbv1.LoadBalancer) {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IP: first(broken, 1), IPPool: broken.Name}
	})
	other := w.balancer("other", forCluster)
	recorder := events.NewFakeRecorder(10)
	w.start(func(r *controllers.LoadBalancerReconciler) {
		live := inNamespace{r.Live, w.name}
		takeover := migration.New(r.Client, live, ipam.NewAllocator(refusing{r.Client, broken.Name}, live), recorder)
		r.Addresses = takeover
		go func() { _ = takeover.Start(w.t.Context()) }()
	})
	w.waitForMessage(other, "")
	w.Expect(other.Status.AllocatedAddress.IP).To(Equal(first(given, 0)))
	w.Expect(recorder.Events).To(Receive(And(ContainSubstring("AddressNotTakenOver"), ContainSubstring("refused"))))
}

func TestDeletionWithInvalidPoolName(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lb := w.balancer("lb", forCluster, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = "default/pool-1" })
	w.waitForMessage(lb, `spec.ipPool: Invalid value: "default/pool-1": must be the name of an IPPool`)
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)

	// Earlier releases have recorded claims with such names.
	promised := w.balancer("promised", forCluster, func(lb *lbv1.LoadBalancer) {
		lb.Spec.IPPool, lb.Finalizers = "default/pool-1", []string{lbv1.LoadBalancerFinalizer}
		lb.Annotations = map[string]string{lbv1.ClaimsAnnotation: "default/pool-1"}
	})
	w.Expect(user.Delete(t.Context(), promised)).To(Succeed())
	w.waitForDeletion(promised)
}

func TestInvalidPoolNameCanBeCorrected(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 4)
	lb := w.balancer("lb", forCluster, func(lb *lbv1.LoadBalancer) {
		lb.Spec.IPPool, lb.Finalizers = "default/"+pool.Name, []string{lbv1.LoadBalancerFinalizer}
		lb.Annotations = map[string]string{lbv1.ClaimsAnnotation: lb.Spec.IPPool} // as in earlier releases
	})
	w.waitForMessage(lb, "must be the name of an IPPool")
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = pool.Name })
	w.waitForMessage(lb, "")
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Status.Address = lb.Status.AllocatedAddress.IP })
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.ClaimsAnnotation)) })
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
	w.Expect(w.allocated(pool)).To(BeEmpty())
}

// refusing is an API server that rejects every change of one pool, as a webhook may.
type refusing struct {
	client.Client
	pool string
}

func (r refusing) Patch(ctx context.Context, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
	if o.GetName() == r.pool {
		return apierrors.NewForbidden(lbv1.GroupVersion.WithResource("ippools").GroupResource(), r.pool, errors.New("refused"))
	}
	return r.Client.Patch(ctx, o, patch, opts...)
}
