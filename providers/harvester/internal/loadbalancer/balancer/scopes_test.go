// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/client-go/tools/events"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/balancer"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/migration"
)

// bounded has the scopes of pools be boundaries, and addresses be taken over first, as a manager does that begins to lead.
func (w *world) bounded(r *balancer.Reconciler) {
	live := inNamespace{r.Live, w.name}
	takeover := migration.New(r.Client, live, ipam.NewAllocator(r.Client, live).WithScopes(), &events.FakeRecorder{})
	r.Addresses = takeover
	go func() { _ = takeover.Start(w.t.Context()) }()
}

// theirs makes a pool whose scope is another namespace.
func (w *world) theirs(changes ...func(*lbv1.IPPool)) *lbv1.IPPool {
	w.t.Helper()
	return w.pool("theirs", 4, append(changes, func(pool *lbv1.IPPool) {
		pool.Spec.Selector.Scope = []lbv1.Tuple{{Project: "*", Namespace: "elsewhere-" + w.name, GuestCluster: "*"}}
	})...)
}

func TestAPoolThatIsNamedGivesNothingToALoadBalancerOutsideItsScope(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	w.start(w.bounded)
	theirs := w.theirs()
	lb := w.balancer("lb", forCluster, from(theirs))
	w.says(lb, "IPPool "+theirs.Name+" is not for it")
	w.Expect(lb.Status.AllocatedAddress).To(BeZero())
	w.Expect(w.allocated(theirs)).To(BeEmpty())
	change(w, theirs, func(pool *lbv1.IPPool) {
		pool.Spec.Selector.Scope = append(pool.Spec.Selector.Scope, lbv1.Tuple{Namespace: w.name})
	})
	w.says(lb, "")
	w.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(theirs.Name))

	unscoped := w.pool("unscoped", 4, func(pool *lbv1.IPPool) { pool.Spec.Selector.Scope = nil })
	w.says(w.balancer("named", forCluster, from(unscoped)), "")
}

func TestAnAddressThatALoadBalancerHoldsOutsideTheScopeOfItsPoolStaysItsOwn(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	theirs := w.theirs()
	theirs.Status = lbv1.IPPoolStatus{Total: 4, Available: 3, LastAllocated: first(theirs, 2), Allocated: map[string]string{first(theirs, 2): w.holder("lb")}}
	w.Expect(user.Update(t.Context(), theirs)).To(Succeed())
	lb := w.balancer("lb", forCluster, from(theirs), func(lb *lbv1.LoadBalancer) {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: theirs.Name, IP: first(theirs, 2)}
	})
	w.start(w.bounded)
	w.says(lb, "")
	w.Expect(lb.Status.AllocatedAddress.IP).To(Equal(first(theirs, 2)))
}

func TestAStatusThatSomebodyForgedGivesNothing(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	own, theirs := w.pool("own", 4), w.theirs()
	w.kubeVIP()
	forged := map[string]*lbv1.LoadBalancer{}
	for name, address := range map[string]lbv1.AllocatedAddress{
		"pool-and-address": {IPPool: theirs.Name, IP: first(theirs, 1)}, "address-alone": {IP: first(theirs, 2)},
		"pool-that-is-not-there": {IPPool: w.name + "-none", IP: first(theirs, 3)},
	} {
		forged[name] = w.balancer(name, func(lb *lbv1.LoadBalancer) { lb.Status.AllocatedAddress = address })
	}
	named := w.balancer("named-too", from(theirs), func(lb *lbv1.LoadBalancer) {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: theirs.Name, IP: first(theirs, 0)}
	})
	w.start(w.bounded)
	w.says(named, "is not for it")
	w.Expect(named.Status.AllocatedAddress).To(BeZero())
	for name, lb := range forged {
		w.eventually(lb, func(g Gomega) { g.Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(own.Name), name) })
		w.Expect(w.service(lb).Spec.LoadBalancerIP).To(Equal(lb.Status.AllocatedAddress.IP), name)
	}
	w.Expect(w.allocated(theirs)).To(BeEmpty())
}
