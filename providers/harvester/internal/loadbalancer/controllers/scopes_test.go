// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/testenv"
)

// bounded enforces the scopes of pools and runs the migration first, as a new leader does.
func (w *fixture) bounded(r *controllers.LoadBalancerReconciler) {
	live := inNamespace{r.Live, w.name}
	takeover := migration.New(r.Client, live, ipam.NewAllocator(r.Client, live).WithScopes(), &events.FakeRecorder{})
	r.Addresses = takeover
	go func() { _ = takeover.Start(w.t.Context()) }()
}

// foreignPool creates a pool with another namespace as its scope.
func (w *fixture) foreignPool(changes ...func(*lbv1.IPPool)) *lbv1.IPPool {
	w.t.Helper()
	return w.pool("theirs", 4, append(changes, func(pool *lbv1.IPPool) {
		pool.Spec.Selector.Scope = []lbv1.Tuple{{Project: "*", Namespace: "elsewhere-" + w.name, GuestCluster: "*"}}
	})...)
}

func TestNamedPoolOutsideScope(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	w.start(w.bounded)
	theirs := w.foreignPool()
	lb := w.balancer("lb", forCluster, from(theirs))
	w.waitForMessage(lb, "IPPool "+theirs.Name+" may not be used")
	w.Expect(lb.Status.AllocatedAddress).To(BeZero())
	w.Expect(w.allocated(theirs)).To(BeEmpty())
	change(w, theirs, func(pool *lbv1.IPPool) {
		pool.Spec.Selector.Scope = append(pool.Spec.Selector.Scope, lbv1.Tuple{Namespace: w.name})
	})
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(theirs.Name))

	unscoped := w.pool("unscoped", 4, func(pool *lbv1.IPPool) { pool.Spec.Selector.Scope = nil })
	w.waitForMessage(w.balancer("named", forCluster, from(unscoped)), "")
}

func TestHeldAddressOutsideScopeIsKept(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	theirs := w.foreignPool()
	theirs.Status = lbv1.IPPoolStatus{Total: 4, Available: 3, LastAllocated: first(theirs, 2), Allocated: map[string]string{first(theirs, 2): w.holder("lb")}}
	w.Expect(user.Update(t.Context(), theirs)).To(Succeed())
	lb := w.balancer("lb", forCluster, from(theirs), func(lb *lbv1.LoadBalancer) {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: theirs.Name, IP: first(theirs, 2)}
	})
	w.start(w.bounded)
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.AllocatedAddress.IP).To(Equal(first(theirs, 2)))
}

// forger is a tenant with permissions in one namespace, and the manager that serves it.
type forger struct {
	*fixture
	tenant            testenv.Tenant
	own, full, theirs *lbv1.IPPool
	announced         func() []string
}

// newForger creates pools: two for the tenant, in which another tenant has all addresses of one and the last address of the other, and
// one for others.
func newForger(t *testing.T) *forger {
	t.Helper()
	tenant := testenv.NewTenant(t, server, user)
	f := &forger{fixture: fixtureIn(t, tenant.Namespace), tenant: tenant}
	held := func(addresses ...int) func(*lbv1.IPPool) {
		return func(pool *lbv1.IPPool) {
			pool.Status = lbv1.IPPoolStatus{Total: 1, Allocated: map[string]string{}}
			for _, n := range addresses {
				pool.Status.Allocated[first(pool, n)] = f.foreignID()
			}
		}
	}
	f.own = f.pool("own", 64, held(63))
	f.full = f.pool("full", 1, held(0), func(pool *lbv1.IPPool) { pool.Spec.Selector.Scope = nil })
	f.theirs = f.foreignPool()
	f.kubeVIP()
	f.announced = f.addresses()
	return f
}

// foreignID returns the id of another tenant's load balancer.
func (f *forger) foreignID() string { return "elsewhere-" + f.name + "/lb" }

// addresses returns those that Services of the namespace request.
func (f *forger) addresses() func() []string {
	f.t.Helper()
	events, err := user.Watch(f.t.Context(), &corev1.ServiceList{}, client.InNamespace(f.name))
	f.Expect(err).NotTo(HaveOccurred())
	var mutex sync.Mutex
	var all []string
	done := make(chan struct{})
	go func() {
		defer close(done)
		for event := range events.ResultChan() {
			if service, ok := event.Object.(*corev1.Service); ok {
				mutex.Lock()
				all = append(all, service.Spec.LoadBalancerIP)
				mutex.Unlock()
			}
		}
	}()
	f.t.Cleanup(func() {
		events.Stop()
		<-done
	})
	return func() []string {
		mutex.Lock()
		defer mutex.Unlock()
		return slices.Clone(all)
	}
}

// forgeries returns the status values that the tenant writes.
func (f *forger) forgeries() map[string]lbv1.AllocatedAddress {
	return map[string]lbv1.AllocatedAddress{
		"free-and-theirs":         {IPPool: f.theirs.Name, IP: first(f.theirs, 1)},
		"free-and-theirs-alone":   {IP: first(f.theirs, 2)},
		"theirs-as-of-own":        {IPPool: f.own.Name, IP: first(f.theirs, 3)},
		"theirs-as-of-none":       {IPPool: f.name + "-none", IP: first(f.theirs, 3)},
		"pool-of-theirs-alone":    {IPPool: f.theirs.Name},
		"of-another-tenant":       {IPPool: f.own.Name, IP: first(f.own, 63)},
		"of-another-tenant-alone": {IP: first(f.own, 63)},
		"in-no-pool":              {IP: "10.250.0.1"},
		"in-no-pool-as-of-own":    {IPPool: f.own.Name, IP: "10.250.0.1"},
		"in-no-pool-of-none":      {IPPool: f.name + "-none", IP: "10.250.0.1"},
		"no-address":              {IPPool: f.own.Name, IP: "garbage"},
		"no-address-alone":        {IP: "127.0.0.1,10.250.0.1"},
		"no-name-of-a-pool":       {IPPool: "../50%", IP: first(f.theirs, 0)},
		"anything":                {IP: "::ffff:10.250.0.1", Mask: "x", Gateway: "y"},
		"from-a-server":           {IPPool: f.theirs.Name, IP: lbv1.UnspecifiedAddress},
	}
}

func (f *forger) forge(lb *lbv1.LoadBalancer, address lbv1.AllocatedAddress) {
	f.t.Helper()
	as := integration.User{T: f.t, G: f.WithT, Client: f.tenant.Client}
	integration.Update(as, lb, integration.Whole, func(lb *lbv1.LoadBalancer) { lb.Status.AllocatedAddress = address })
}

// expectNoAddress expects that other tenants keep their addresses and can get all others of their pools.
func (f *forger) expectNoAddress(asked ...string) {
	f.t.Helper()
	var own []string
	for n := range 63 {
		own = append(own, first(f.own, n))
	}
	for _, address := range f.announced() {
		f.Expect(append(own, asked...)).To(ContainElement(address), "it is announced")
	}
	f.Expect(f.allocated(f.own)).To(HaveKeyWithValue(first(f.own, 63), f.foreignID()))
	f.Expect(f.allocated(f.full)).To(Equal(map[string]string{first(f.full, 0): f.foreignID()}))
	f.Expect(f.allocated(f.theirs)).To(BeEmpty())
	others := ipam.NewAllocator(user, user).WithScopes()
	for n := range 4 {
		_, err := others.Claim(f.t.Context(), f.theirs.Name, fmt.Sprintf("%s-%d", f.foreignID(), n))
		f.Expect(err).NotTo(HaveOccurred(), "all addresses of the pool are there for those that it is for")
	}
}

func TestForgedStatusAllocatesNothing(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	f.Expect(f.tenant.Client.Update(t.Context(), f.own)).To(MatchError(apierrors.IsForbidden, "is forbidden"))
	forged := map[string]*lbv1.LoadBalancer{}
	for name, address := range f.forgeries() {
		forged[name] = f.balancer(name, func(lb *lbv1.LoadBalancer) { lb.Status.AllocatedAddress = address })
	}
	named := f.balancer("named-too", from(f.theirs), func(lb *lbv1.LoadBalancer) {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: f.theirs.Name, IP: first(f.theirs, 0)}
	})
	f.start(f.bounded)
	f.waitForMessage(named, "may not be used")
	f.Expect(named.Status.AllocatedAddress).To(BeZero())
	for name, lb := range forged {
		f.eventually(lb, func(g Gomega) { g.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(f.own.Name), name) })
		f.eventually(lb, func(g Gomega) {
			g.Expect(f.service(lb).Spec.LoadBalancerIP).To(Equal(lb.Status.AllocatedAddress.IP), name)
		})
	}
	f.expectNoAddress()
}

func TestForgedStatusIsNotAnnounced(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	change := map[string]func(*lbv1.LoadBalancer){
		"full": from(f.full), "missing": func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = f.name + "-missing" },
		"no-name": func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = "a/b" }, "dhcp": byDHCP,
	}
	messages := map[string]string{"full": "no available IP", "missing": "does not exist", "no-name": "must be the name of an IPPool", "dhcp": "external IP"}
	var all []*lbv1.LoadBalancer
	for kind, how := range change {
		for name, address := range f.forgeries() {
			all = append(all, f.balancer(kind+"-"+name, how, func(lb *lbv1.LoadBalancer) {
				lb.Labels = map[string]string{"kind": kind}
				lb.Status.AllocatedAddress = address
			}))
		}
	}
	f.start(f.bounded)
	for _, lb := range all {
		kind := lb.Labels["kind"]
		want := lbv1.AllocatedAddress{}
		if kind == "dhcp" {
			want.IP = lbv1.UnspecifiedAddress
		}
		f.eventually(lb, func(g Gomega) {
			g.Expect(lb.Status.AllocatedAddress).To(Equal(want), lb.Name)
			if kind != "dhcp" {
				g.Expect(lb.Status.Conditions).To(ContainElement(HaveField("Message", ContainSubstring(messages[kind]))), lb.Name)
			}
		})
	}
	f.expectNoAddress(lbv1.UnspecifiedAddress)
}

func TestLaterForgedStatusIsIgnored(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	f.start(f.bounded)
	had := map[string]lbv1.AllocatedAddress{}
	var all []*lbv1.LoadBalancer
	for name := range f.forgeries() {
		lb := f.balancer(name)
		f.eventually(lb, func(g Gomega) {
			g.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(f.own.Name))
			g.Expect(lb.Status.Address).To(Equal(lb.Status.AllocatedAddress.IP))
		})
		had[name] = lb.Status.AllocatedAddress
		all = append(all, lb)
	}
	right := func() {
		for _, lb := range all {
			f.eventually(lb, func(g Gomega) { g.Expect(lb.Status.AllocatedAddress).To(Equal(had[lb.Name]), lb.Name) })
		}
	}
	for _, lb := range all {
		f.forge(lb, f.forgeries()[lb.Name])
	}
	right()
	f.stop() // no manager watches, and no cache survives
	for _, lb := range all {
		f.forge(lb, f.forgeries()[lb.Name])
	}
	f.start(f.bounded)
	right()
	f.stop()
	for _, lb := range all { // the right address with another pool
		f.forge(lb, lbv1.AllocatedAddress{IPPool: f.theirs.Name, IP: had[lb.Name].IP})
	}
	f.start(f.bounded)
	right()
	f.expectNoAddress()
}

func TestRemovedStatusAddressIsReleased(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	f.start(f.bounded)
	var all []*lbv1.LoadBalancer
	for name := range f.forgeries() {
		lb := f.balancer(name)
		f.eventually(lb, func(g Gomega) { g.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(f.own.Name)) })
		all = append(all, lb)
	}
	f.stop()
	for _, lb := range all {
		f.forge(lb, f.forgeries()[lb.Name])
		f.Expect(f.tenant.Client.Delete(t.Context(), lb)).To(Succeed())
	}
	emptied := f.balancer("emptied", func(lb *lbv1.LoadBalancer) {
		lb.Finalizers = []string{lbv1.LoadBalancerFinalizer}
		lb.Annotations = map[string]string{lbv1.ClaimsAnnotation: f.theirs.Name + "," + f.full.Name}
	})
	f.Expect(f.tenant.Client.Delete(t.Context(), emptied)).To(Succeed())
	f.start(f.bounded)
	for _, lb := range append(all, emptied) {
		f.waitForDeletion(lb)
	}
	f.Eventually(func() map[string]string { return f.allocated(f.own) }).Should(Equal(map[string]string{first(f.own, 63): f.foreignID()}))
	f.expectNoAddress()
}
