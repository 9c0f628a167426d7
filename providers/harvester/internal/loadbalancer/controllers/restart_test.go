// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package controllers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

// dying allows a number of writes; all later writes fail, as if the process had ended.
type dying struct {
	left atomic.Int32
	dead chan struct{}
}

func (d *dying) write(do func() error) error {
	left := d.left.Add(-1)
	if left < 0 {
		if left == -1 {
			close(d.dead)
		}
		return errors.New("the process has ended")
	}
	return do()
}

func (d *dying) client(config *rest.Config, options client.Options) (client.Client, error) {
	return integration.NewInterceptedClient(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			return d.write(func() error { return c.Create(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			return d.write(func() error { return c.Patch(ctx, o, p, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return d.write(func() error { return c.Update(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return d.write(func() error { return c.Delete(ctx, o, opts...) })
		},
	})(config, options)
}

// diesAfter runs a manager that ends after a number of writes. It reports whether it ends before done.
func (w *fixture) diesAfter(writes int, done func() bool) bool {
	w.t.Helper()
	d := &dying{dead: make(chan struct{})}
	d.left.Store(int32(writes))
	stop := w.run(ctrl.Options{NewClient: d.client}, nil)
	defer stop()
	died := false
	w.Eventually(func() bool {
		select {
		case <-d.dead:
			died = true
		default:
		}
		return died || done()
	}).Should(BeTrue())
	return died
}

// A load balancer is created, moved to another pool and deleted, with a manager that ends at each of its writes in turn.
func TestCrashBetweenWrites(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	w.kubeVIP()
	w.machine("vm-1", "192.168.1.5")
	a, b := w.pool("a", 2), w.pool("b", 2)
	isReadyFrom := func(lb *lbv1.LoadBalancer, pool *lbv1.IPPool) func() bool {
		return func() bool {
			return w.get(lb) == nil && len(lb.Status.Conditions) == 1 && lb.Status.Conditions[0].Status == corev1.ConditionTrue &&
				lb.Status.AllocatedAddress.IPPool == pool.Name && lb.Annotations[lbv1.ClaimsAnnotation] == ""
		}
	}
	for writes := 0; ; writes++ {
		lb := w.balancer(fmt.Sprintf("lb-%d", writes), from(a))
		died := w.diesAfter(writes, isReadyFrom(lb, a))
		w.diesAfter(1000, isReadyFrom(lb, a))
		w.Expect(slices.Collect(maps.Values(w.allocated(a)))).To(ConsistOf(w.holder(lb.Name)), "after %d writes", writes)

		change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = b.Name })
		died = w.diesAfter(writes, isReadyFrom(lb, b)) || died
		w.diesAfter(1000, isReadyFrom(lb, b))
		w.Expect(w.allocated(a)).To(BeEmpty(), "after %d writes", writes)
		w.Expect(slices.Collect(maps.Values(w.allocated(b)))).To(ConsistOf(w.holder(lb.Name)), "after %d writes", writes)

		w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
		gone := func() bool { return client.IgnoreNotFound(w.get(lb)) == nil && w.get(lb) != nil }
		died = w.diesAfter(writes, gone) || died
		w.diesAfter(1000, gone)
		w.Expect(w.allocated(b)).To(BeEmpty(), "after %d writes", writes)
		services := &corev1.ServiceList{}
		w.Expect(user.List(t.Context(), services, client.InNamespace(w.name))).To(Succeed())
		w.Expect(services.Items).To(BeEmpty(), "after %d writes", writes)
		w.Expect(w.slices(lb)).To(BeEmpty(), "after %d writes", writes)
		if !died {
			w.Expect(writes).To(BeNumerically(">", 3))
			return
		}
	}
}

// Two managers are active at the same time, which the lease prevents as long as clocks are correct.
func TestTwoManagersAllocateUniqueAddresses(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	const n = 12
	pool := w.pool("a", n)
	w.kubeVIP()
	w.machine("vm-1", "192.168.1.5")
	w.start(nil)
	w.start(nil)
	var all []*lbv1.LoadBalancer
	for i := range n {
		all = append(all, w.balancer(fmt.Sprintf("lb-%d", i)))
	}
	had := map[string]bool{}
	for _, lb := range all {
		w.waitForMessage(lb, "")
		w.Expect(had).NotTo(HaveKey(lb.Status.Address))
		had[lb.Status.Address] = true
		w.Expect(w.allocated(pool)).To(HaveKeyWithValue(lb.Status.Address, w.holder(lb.Name)))
	}
	for _, lb := range all {
		w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	}
	for _, lb := range all {
		w.waitForDeletion(lb)
	}
	w.Eventually(func() map[string]string { return w.allocated(pool) }).Should(BeEmpty())
}
