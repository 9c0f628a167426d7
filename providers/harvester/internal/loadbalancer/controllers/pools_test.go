// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/controllers"
)

func TestNewPoolServesWaitingLoadBalancer(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lb := w.balancer("lb", forCluster)
	w.waitForMessage(lb, "no matched IPPool with requirement")
	w.Expect(lb.Finalizers).To(BeEmpty(), "there is nothing to be given back")
	pool := w.pool("a", 4)
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.AllocatedAddress.IP).To(Equal(first(pool, 0)))

	named := w.balancer("named", forCluster, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = w.name + "-b" })
	w.waitForMessage(named, "IPPool "+w.name+"-b, named by spec.ipPool, does not exist: create it")
	w.pool("b", 4)
	w.waitForMessage(named, "")
}

func TestExhaustedPool(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 1)
	holder := w.balancer("holder", forCluster)
	w.waitForMessage(holder, "")
	waiting := w.balancer("waiting", forCluster)
	w.waitForMessage(waiting, "no available IP in IPPool "+pool.Name)
	w.Expect(user.Delete(t.Context(), holder)).To(Succeed())
	w.waitForMessage(waiting, "")
	w.Expect(waiting.Annotations).NotTo(HaveKey(lbv1.ClaimsAnnotation))
	w.Expect(w.allocated(pool)).To(Equal(map[string]string{first(pool, 0): w.holder("waiting")}))

	another := w.balancer("another", forCluster)
	w.waitForMessage(another, "no available IP")
	change(w, pool, func(pool *lbv1.IPPool) {
		pool.Spec.Ranges = append(pool.Spec.Ranges, lbv1.Range{Subnet: "10.250.1.0/24"})
	})
	w.waitForMessage(another, "")
}

func TestPoolChangeKeepsAddressUntilAnnounced(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b := w.pool("a", 4), w.pool("b", 4)
	lb := w.balancer("lb", from(a))
	service := w.service(lb)
	w.announce(service, first(a, 0))
	w.machine("vm-1", "192.168.1.5")
	w.waitForMessage(lb, "")
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = b.Name })
	w.eventually(service, func(g Gomega) { g.Expect(service.Spec.LoadBalancerIP).To(Equal(first(b, 0))) })
	w.waitForMessage(lb, "service is waiting for external IP")
	w.Expect(lb.Status.AllocatedAddress.IP).To(Equal(first(b, 0)))
	w.Expect(lb.Status.Address).To(Equal(first(a, 0)), "it is announced there still")
	w.Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.ClaimsAnnotation, a.Name))
	w.Expect(w.allocated(a)).To(HaveKey(first(a, 0)))
	w.announce(service, first(b, 0))
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.Address).To(Equal(first(b, 0)))
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.ClaimsAnnotation)) })
	w.Expect(w.allocated(a)).To(BeEmpty())
	w.Expect(w.allocated(b)).To(HaveLen(1))
}

func TestPoolChangeOfGuestCluster(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b := w.pool("a", 4), w.pool("b", 4)
	lb := w.balancer("lb", forCluster, from(a))
	w.waitForMessage(lb, "")
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Status.Address, lb.Spec.IPPool = first(a, 0), b.Name })
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Status.AllocatedAddress.IP).To(Equal(first(b, 0))) })
	w.Expect(w.allocated(a)).To(HaveLen(1))
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Status.Address = first(b, 0) })
	w.Eventually(func() map[string]string { return w.allocated(a) }).Should(BeEmpty())
	w.Expect(w.allocated(b)).To(HaveLen(1))

	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = a.Name }) // it is deleted while it has both
	w.Eventually(func() map[string]string { return w.allocated(a) }).Should(HaveLen(1))
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
	w.Expect(w.allocated(a)).To(BeEmpty())
	w.Expect(w.allocated(b)).To(BeEmpty())
}

func TestPoolChangeToExhaustedPoolKeepsAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	a, b := w.pool("a", 1), w.pool("b", 1)
	w.waitForMessage(w.balancer("holder", forCluster, from(b)), "")
	w.kubeVIP()
	w.machine("vm-1", "192.168.1.5")
	lb := w.balancer("lb", from(a))
	w.waitForMessage(lb, "")
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = b.Name })
	w.waitForMessage(lb, "no available IP in IPPool "+b.Name)
	w.Expect(lb.Status.Address).To(Equal(first(a, 0)))
	w.Expect(w.service(lb).Spec.LoadBalancerIP).To(Equal(first(a, 0)))
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPPool = a.Name })
	w.waitForMessage(lb, "")
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.ClaimsAnnotation)) })
}

func TestForeignStatusAddressIsIgnored(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 4)
	one, two := w.balancer("one", forCluster), w.balancer("two", forCluster)
	w.waitForMessage(one, "")
	w.waitForMessage(two, "")
	right := two.Status.AllocatedAddress
	stolen := one.Status.AllocatedAddress
	change(w, two, func(lb *lbv1.LoadBalancer) { lb.Status.AllocatedAddress = stolen })
	w.eventually(two, func(g Gomega) { g.Expect(two.Status.AllocatedAddress).To(Equal(right)) })

	// Also while no manager runs.
	w.stop()
	change(w, two, func(lb *lbv1.LoadBalancer) { lb.Status.AllocatedAddress = stolen })
	w.start(nil)
	w.eventually(two, func(g Gomega) { g.Expect(two.Status.AllocatedAddress).To(Equal(right)) })
	w.Expect(w.get(one)).To(Succeed())
	w.Expect(one.Status.AllocatedAddress).To(Equal(stolen))
	w.Expect(w.allocated(pool)).To(HaveLen(2))
}

func TestUnrecordedAddressIsKept(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	pool := w.pool("a", 4)
	lb := w.balancer("lb", forCluster, func(lb *lbv1.LoadBalancer) {
		lb.Status.AllocatedAddress = lbv1.AllocatedAddress{IPPool: pool.Name, IP: first(pool, 2), Mask: "255.255.255.0"}
	})
	w.start(nil)
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.AllocatedAddress.IP).To(Equal(first(pool, 2)))
	w.Expect(w.allocated(pool)).To(Equal(map[string]string{first(pool, 2): w.holder("lb")}))
}

func TestIPAMModeIsKeptWithoutWebhook(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 4)
	lb, dhcp := w.balancer("lb", forCluster), w.balancer("dhcp", forCluster, byDHCP)
	w.waitForMessage(lb, "")
	w.waitForMessage(dhcp, "")
	has := lb.Status.AllocatedAddress
	change(w, lb, byDHCP)
	w.waitForMessage(lb, "spec.ipam was changed to dhcp")
	w.Expect(lb.Status.AllocatedAddress).To(Equal(has))
	change(w, lb, func(lb *lbv1.LoadBalancer) { lb.Spec.IPAM = lbv1.IPAMPool })
	w.waitForMessage(lb, "")
	change(w, dhcp, func(lb *lbv1.LoadBalancer) { lb.Spec.IPAM = lbv1.IPAMPool })
	w.waitForMessage(dhcp, "spec.ipam was changed to pool")
	w.Expect(dhcp.Status.AllocatedAddress.IP).To(Equal("0.0.0.0"))
	w.Expect(w.allocated(pool)).To(HaveLen(1))
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.Expect(user.Delete(t.Context(), dhcp)).To(Succeed())
	w.waitForDeletion(lb)
	w.waitForDeletion(dhcp)
	w.Expect(w.allocated(pool)).To(BeEmpty())
}

func TestOlderLoadBalancerIsPinnedToPool(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	w.pool("a", 4)
	b := w.pool("b", 4, func(pool *lbv1.IPPool) { pool.Spec.Selector.Scope = nil })
	b.Status = lbv1.IPPoolStatus{Total: 4, Available: 3, LastAllocated: first(b, 1), Allocated: map[string]string{first(b, 1): w.holder("lb")}}
	w.Expect(user.Update(t.Context(), b)).To(Succeed())
	machine := w.machine("vm-1")
	machine.Labels["harvesterhci.io/vmName"] = "vm-1"
	w.Expect(user.Update(t.Context(), machine)).To(Succeed())
	lb := w.balancer("lb", func(lb *lbv1.LoadBalancer) {
		lb.Annotations = map[string]string{lbv1.BackendServersAnnotation: `["192.168.1.5"]`}
		lb.Spec.BackendServerSelector = nil
		lb.Status.AllocatedAddress.IP = first(b, 1)
	})
	w.kubeVIP()
	w.start(nil)
	w.waitForMessage(lb, "no running backend servers")
	w.Expect(lb.Spec.IPPool).To(Equal(b.Name))
	machine.Status.Interfaces = interfaces([]string{"192.168.1.5"})
	w.Expect(user.Update(t.Context(), machine)).To(Succeed())
	w.waitForMessage(lb, "")
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true})
}

func TestQuarantineOfGuestClusterAddress(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	resting := func(period time.Duration) func(*controllers.LoadBalancerReconciler) {
		return func(r *controllers.LoadBalancerReconciler) {
			r.Addresses = ipam.NewAllocator(r.Client, r.Live).WithQuarantine(period)
		}
	}
	w.start(resting(time.Hour))
	pool := w.pool("a", 1)
	lb := w.balancer("lb", forCluster)
	w.waitForMessage(lb, "")
	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
	another := w.balancer("another", forCluster)
	w.waitForMessage(another, "no available IP in IPPool "+pool.Name+": wait until a released address may be allocated again, 1h0m0s after its release")
	again := w.balancer("lb", forCluster)
	w.waitForMessage(again, "")
	w.Expect(user.Delete(t.Context(), again)).To(Succeed())
	w.waitForDeletion(again)

	w.stop()
	w.start(resting(time.Second))
	w.waitForMessage(another, "")
	w.Expect(w.allocated(pool)).To(Equal(map[string]string{first(pool, 0): w.holder("another")}))
}
