// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/watch"
)

// poolFixture is a test with a manager of pools. It ignores the pools of other tests, because only one manager may allocate addresses.
type poolFixture struct {
	*WithT
	t *testing.T
	// name is the label value of its pools.
	name      string
	addresses *ipam.Allocator
	events    *events.FakeRecorder
}

// poolFixtures counts the fixtures.
var poolFixtures atomic.Int32

// newPoolFixture starts a manager with interceptors for its writes.
func newPoolFixture(t *testing.T, disturb ...interceptor.Funcs) *poolFixture {
	t.Helper()
	g := integration.NewGomega(t)
	w := &poolFixture{WithT: g, t: t, name: fmt.Sprintf("test-%d", poolFixtures.Add(1)), events: events.NewFakeRecorder(1000)}
	options := ctrl.Options{Scheme: scheme, NewClient: integration.NewInterceptedClient(disturb...)}
	integration.Start(t, apiServer, user.RESTMapper(), options, func(ctx context.Context, mgr ctrl.Manager) error {
		w.addresses = ipam.NewAllocator(mgr.GetClient(), mgr.GetAPIReader())
		r := &controllers.IPPoolReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Addresses: w.addresses, Recorder: w.events, Filter: watch.Filter(w.name)}
		return r.SetupWithManager(ctx, mgr, watch.Concurrency(4))
	})
	return w
}

func (w *poolFixture) create(o client.Object) {
	w.t.Helper()
	o.SetLabels(map[string]string{clusterv1.WatchLabel: w.name})
	w.Expect(user.Create(w.t.Context(), o)).To(Succeed())
}

// pool creates a pool with these subnets.
func (w *poolFixture) pool(name string, subnets ...string) *lbv1.IPPool {
	w.t.Helper()
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	for _, subnet := range subnets {
		pool.Spec.Ranges = append(pool.Spec.Ranges, lbv1.Range{Subnet: subnet})
	}
	w.create(pool)
	return pool
}

func (w *poolFixture) get(name string) *lbv1.IPPool {
	w.t.Helper()
	pool := &lbv1.IPPool{}
	w.Expect(user.Get(w.t.Context(), client.ObjectKey{Name: name}, pool)).To(Succeed())
	return pool
}

// waitForReady waits until the condition has the reason, "" for a pool that is ready, and returns its message.
func (w *poolFixture) waitForReady(name, reason string) (message string) {
	w.t.Helper()
	w.Eventually(func(g Gomega) {
		conditions := w.get(name).Status.Conditions
		g.Expect(conditions).To(HaveLen(1))
		c := conditions[0]
		g.Expect(c.Type).To(Equal("Ready"))
		g.Expect(c.Reason).To(Equal(reason), "%+v", c)
		g.Expect(c.Status).To(Equal(map[bool]corev1.ConditionStatus{true: "True", false: "False"}[reason == ""]))
		message = c.Message
	}).Should(Succeed())
	return message
}

func (w *poolFixture) change(name string, change func(*lbv1.IPPool)) {
	w.t.Helper()
	w.Eventually(func() error {
		pool := w.get(name)
		change(pool)
		return user.Update(w.t.Context(), pool)
	}).Should(Succeed())
}

func TestPoolCountsAndFinalizer(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	// The sample of the proposal has 257 addresses, one of them held.
	pool := &lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "sample"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{
		{RangeStart: "172.16.231.10", RangeEnd: "172.16.231.13", Subnet: "172.16.231.0/24"}, {Subnet: "172.16.232.0/24"},
	}}}
	w.create(pool)
	w.waitForReady("sample", "")
	is := w.get("sample")
	w.Expect(is.Status.Total).To(BeEquivalentTo(257))
	w.Expect(is.Status.Available).To(BeEquivalentTo(257))
	w.Expect(is.Finalizers).To(Equal([]string{"wrangler.cattle.io/harvester-ipam-controller"}))

	claimed, err := w.addresses.Claim(t.Context(), "sample", "default/lb1")
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(claimed.IP.String()).To(Equal("172.16.231.10"))
	w.Expect(w.get("sample").Status.Available).To(BeEquivalentTo(256))

	w.Expect(user.Delete(t.Context(), pool)).To(Succeed())
	w.Expect(w.waitForReady("sample", "Deleting")).To(ContainSubstring("1 addresses are held"))
	_, err = w.addresses.Claim(t.Context(), "sample", "default/lb2")
	w.Expect(err).To(MatchError(ContainSubstring("is being deleted")))
	w.Expect(w.addresses.Release(t.Context(), "sample", "default/lb1")).To(Succeed())
	w.Eventually(func() error { return user.Get(t.Context(), client.ObjectKeyFromObject(pool), pool) }).Should(MatchError(ContainSubstring("not found")))
}

func TestEditedCountsAndHistoryAreCorrected(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("byhand", "10.30.0.0/24")
	w.waitForReady("byhand", "")
	w.change("byhand", func(pool *lbv1.IPPool) {
		pool.Status.Total, pool.Status.Available = 7, -3
		pool.Status.Allocated = map[string]string{"10.30.0.9": "machines/m-1", "10.30.0.10": "default/lb"}
		pool.Status.AllocatedHistory = map[string]string{"10.30.0.9": "default/old", "10.31.0.1": "default/outside", "none": "default/none", "10.30.0.11": "default/had"}
	})
	w.Eventually(func() lbv1.IPPoolStatus {
		status := w.get("byhand").Status
		status.Conditions = nil
		return status
	}).Should(Equal(lbv1.IPPoolStatus{
		Total: 253, Available: 251,
		Allocated:        map[string]string{"10.30.0.9": "machines/m-1", "10.30.0.10": "default/lb"},
		AllocatedHistory: map[string]string{"10.30.0.11": "default/had"},
	}))
}

func TestInvalidPoolReportsField(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("wrong", "10.32.0.0")
	w.Expect(w.waitForReady("wrong", "RangesInvalid")).To(And(ContainSubstring("spec.ranges[0]"), ContainSubstring("no addresses are allocated")))
	w.change("wrong", func(pool *lbv1.IPPool) { pool.Spec.Ranges[0].Subnet = "10.32.0.0/24" })
	w.waitForReady("wrong", "")

	w.pool("wrong-later", "10.32.0.128/25")
	w.Expect(w.waitForReady("wrong-later", "RangesInvalid")).To(ContainSubstring("IPPool wrong,"))
	_, err := w.addresses.Claim(t.Context(), "wrong-later", "default/lb")
	w.Expect(err).To(MatchError(ContainSubstring("allocates no addresses")))
	w.change("wrong", func(pool *lbv1.IPPool) { pool.Spec.Ranges[0].Subnet = "10.32.0.0/25" })
	w.waitForReady("wrong-later", "")
	_, err = w.addresses.Claim(t.Context(), "wrong-later", "default/lb")
	w.Expect(err).NotTo(HaveOccurred())
}

func TestLaterOfConflictingPoolsReportsConflict(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	scope := []lbv1.Tuple{{Project: "*", Namespace: "unclear", GuestCluster: "*"}}
	for i, name := range []string{"unclear-a", "unclear-b"} {
		w.create(&lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: lbv1.IPPoolSpec{
			Ranges: []lbv1.Range{{Subnet: fmt.Sprintf("10.33.%d.0/24", i)}}, Selector: lbv1.Selector{Scope: scope},
		}})
	}
	w.waitForReady("unclear-a", "")
	w.Expect(w.waitForReady("unclear-b", "SelectorInvalid")).To(ContainSubstring("unclear-a"))
	_, err := w.addresses.Claim(t.Context(), "unclear-b", "default/lb")
	w.Expect(err).NotTo(HaveOccurred())
}

func TestReleaseAnnotation(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("hand", "fd00:34::/64")
	w.create(&lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "lives"}})
	for _, id := range []string{"default/lives", "default/gone"} {
		_, err := w.addresses.Claim(t.Context(), "hand", id)
		w.Expect(err).NotTo(HaveOccurred())
	}
	ask := func(asked string) {
		w.change("hand", func(pool *lbv1.IPPool) { metav1.SetMetaDataAnnotation(&pool.ObjectMeta, lbv1.ReleaseAnnotation, asked) })
		w.Eventually(func() map[string]string { return w.get("hand").Annotations }).ShouldNot(HaveKey(lbv1.ReleaseAnnotation))
	}
	ask("fd00:34::2: default/lives")
	ask("fd00:34::9: default/gone")
	ask("whatever")
	w.Expect(w.get("hand").Status.Allocated).To(HaveLen(2))
	ask("fd00:34::3: default/gone")
	w.Expect(w.get("hand").Status.Allocated).To(Equal(map[string]string{"fd00:34::2": "default/lives"}))
}

func TestConcurrentReleaseAnnotation(t *testing.T) {
	t.Parallel()
	var w *poolFixture
	ask := func(asked string) {
		w.change("requests", func(pool *lbv1.IPPool) { metav1.SetMetaDataAnnotation(&pool.ObjectMeta, lbv1.ReleaseAnnotation, asked) })
	}
	var armed atomic.Bool
	w = newPoolFixture(t, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			if _, whole := o.(*lbv1.IPPool); !whole || !armed.Swap(false) {
				return c.Patch(ctx, o, patch, options...)
			}
			ask("10.48.0.3: default/second")
			if err := c.Patch(ctx, o, patch, options...); err != nil {
				return err
			}
			w.Eventually(func(g Gomega) { // the next read must return the result of this write
				cached := &lbv1.IPPool{}
				g.Expect(c.Get(ctx, client.ObjectKeyFromObject(o), cached)).To(Succeed())
				g.Expect(cached.ResourceVersion).To(Equal(o.GetResourceVersion()))
			}).Should(Succeed())
			return nil
		},
	})
	w.pool("requests", "10.48.0.0/24")
	w.waitForReady("requests", "")
	for _, id := range []string{"default/first", "default/second"} {
		_, err := w.addresses.Claim(t.Context(), "requests", id)
		w.Expect(err).NotTo(HaveOccurred())
	}
	armed.Store(true)
	ask("10.48.0.2: default/first")
	w.Eventually(func() map[string]string { return w.get("requests").Status.Allocated }).Should(BeEmpty())
	w.Eventually(func() map[string]string { return w.get("requests").Annotations }).ShouldNot(HaveKey(lbv1.ReleaseAnnotation))
}

// Clients that may write pools may write any holder.
func TestInvalidHolderDoesNotBlockRepair(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.create(&lbv1.LoadBalancer{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "beside"},
		Status:     lbv1.LoadBalancerStatus{AllocatedAddress: lbv1.AllocatedAddress{IPPool: "beside", IP: "10.49.0.9"}},
	})
	w.create(&lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "beside"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.49.0.0/24"}}},
		Status: lbv1.IPPoolStatus{Allocated: map[string]string{
			"10.49.0.3": "a/b/c", "10.49.0.4": "a/b/c", "10.49.0.5": "default/beside", "10.49.0.9": "default/beside",
		}}})
	left := map[string]string{"10.49.0.3": "a/b/c", "10.49.0.4": "a/b/c", "10.49.0.9": "default/beside"}
	w.Eventually(func() map[string]string { return w.get("beside").Status.Allocated }).Should(Equal(left))

	w.change("beside", func(pool *lbv1.IPPool) {
		metav1.SetMetaDataAnnotation(&pool.ObjectMeta, lbv1.ReleaseAnnotation, "10.49.0.3: a/b/c")
	})
	w.Eventually(func() map[string]string { return w.get("beside").Annotations }).ShouldNot(HaveKey(lbv1.ReleaseAnnotation))
	delete(left, "10.49.0.3")
	w.Expect(w.get("beside").Status.Allocated).To(Equal(left))
}

// A manager may end between two writes, or be replaced by another one with a stale cache.
func TestLoadBalancerWithTwoAddressesKeepsThatOfService(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.create(&lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "twice"}})
	w.create(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "twice"}, Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: "10.35.0.9", Ports: []corev1.ServicePort{{Port: 80}},
	}})
	w.create(&lbv1.IPPool{ObjectMeta: metav1.ObjectMeta{Name: "twice"}, Spec: lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "10.35.0.0/24"}}},
		Status: lbv1.IPPoolStatus{Allocated: map[string]string{"10.35.0.3": "default/twice", "10.35.0.9": "default/twice", "10.35.0.4": "m/m", "10.35.0.5": "m/m"}}})
	w.Eventually(func() map[string]string { return w.get("twice").Status.Allocated }).Should(Equal(
		map[string]string{"10.35.0.9": "default/twice", "10.35.0.4": "m/m", "10.35.0.5": "m/m"}))
	w.waitForReady("twice", "")
}

func TestTheCountsOfALargePoolFollow(t *testing.T) {
	t.Parallel()
	w := newPoolFixture(t)
	w.pool("large", "10.36.0.0/20")
	w.change("large", func(pool *lbv1.IPPool) {
		pool.Status.Allocated = map[string]string{}
		for i := range allocation.MaxInPool {
			pool.Status.Allocated[fmt.Sprintf("10.36.%d.%d", 1+i/256, i%256)] = fmt.Sprintf("machines/m-%d", i)
		}
	})
	for i := range 20 {
		_, err := w.addresses.Claim(t.Context(), "large", fmt.Sprintf("default/lb-%d", i))
		w.Expect(err).NotTo(HaveOccurred())
	}
	w.Eventually(func() int64 { return w.get("large").Status.Available }).Should(BeEquivalentTo(4093 - allocation.MaxInPool - 20))
	w.Expect(w.get("large").Annotations).To(HaveKeyWithValue(lbv1.BlocksAnnotation, "true"))
}
