// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

func TestOlderLoadBalancerKeepsAddressAndBackends(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	preferred := w.pool("preferred", 3, func(p *lbv1.IPPool) { p.Spec.Selector.Priority = uint32(subnets.Load()) })
	other := w.pool("other", 3)
	has := first(other, 1)
	change(w, other, func(p *lbv1.IPPool) {
		p.Status = lbv1.IPPoolStatus{Total: 3, Available: 2, LastAllocated: has, Allocated: map[string]string{has: w.holder("old")}}
	})
	lb := w.balancer("old", func(lb *lbv1.LoadBalancer) {
		lb.Spec.BackendServerSelector = nil
		lb.Annotations = map[string]string{lbv1.BackendServersAnnotation: `["192.168.0.1","192.168.0.2"]`}
		lb.Status.Address, lb.Status.AllocatedAddress.IP = has, has
	})
	named := func(name, address string) {
		vmi := w.machine("vmi-"+name, address)
		change(w, vmi, func(vmi *kubevirtInstance) { vmi.Labels[infrav1.VMNameLabel] = name })
	}
	named("a", "192.168.0.1")
	w.start(nil)
	w.eventually(lb, func(g Gomega) {
		g.Expect(lb.Spec.IPPool).To(Equal(other.Name))
		g.Expect(lb.Status.AllocatedAddress.IP).To(Equal(has))
		g.Expect(lb.Spec.BackendServerSelector).To(Equal(map[string][]string{infrav1.VMNameLabel: {"a"}}))
	})
	w.Expect(w.service(lb).Spec.LoadBalancerIP).To(Equal(has))
	w.waitForBackends(lb, map[string]bool{"192.168.0.1": true})
	named("b", "192.168.0.2")
	w.waitForBackends(lb, map[string]bool{"192.168.0.1": true, "192.168.0.2": true})
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.BackendServersAnnotation)) })
	w.Expect(w.allocated(other)).To(Equal(map[string]string{has: w.holder("old")}))
	w.Expect(w.allocated(preferred)).To(BeEmpty())
}

func TestOlderLoadBalancerKeepsUnrecordedAddress(t *testing.T) {
	t.Parallel()
	w := emptyFixture(t)
	w.pool("preferred", 3, func(p *lbv1.IPPool) { p.Spec.Selector.Priority = 1000 + uint32(subnets.Load()) })
	other := w.pool("other", 3)
	shows := func(address string) func(*lbv1.LoadBalancer) {
		return func(lb *lbv1.LoadBalancer) { lb.Status.Address, lb.Status.AllocatedAddress.IP = address, address }
	}
	lb := w.balancer("old", shows(first(other, 1)))
	named := w.balancer("named", shows(first(other, 2)), from(other))
	alone := w.balancer("alone", shows("10.251.7.9"))
	w.announced(alone)
	w.start(nil)
	for _, one := range []*lbv1.LoadBalancer{lb, named} {
		has := one.Status.Address
		w.eventually(one, func(g Gomega) {
			g.Expect(one.Status.AllocatedAddress).To(And(HaveField("IPPool", other.Name), HaveField("IP", has), HaveField("Mask", "255.255.255.0")))
		})
		w.Expect(w.service(one).Spec.LoadBalancerIP).To(Equal(has))
		w.Expect(w.allocated(other)).To(HaveKeyWithValue(has, w.holder(one.Name)))
	}

	// A pool with this address can be created later.
	w.waitForMessage(alone, "address 10.251.7.9 is in no IPPool: create one that contains it")
	w.Expect(w.service(alone).Spec.LoadBalancerIP).To(Equal("10.251.7.9"))
	later := w.pool("later", 3, func(p *lbv1.IPPool) {
		p.Spec.Ranges[0] = lbv1.Range{Subnet: "10.251.7.0/24", RangeStart: "10.251.7.9", RangeEnd: "10.251.7.10"}
	})
	w.eventually(alone, func(g Gomega) { g.Expect(alone.Status.AllocatedAddress.IPPool).To(Equal(later.Name)) })
	w.Expect(alone.Status.AllocatedAddress.IP).To(Equal("10.251.7.9"))
	w.Expect(w.allocated(later)).To(Equal(map[string]string{"10.251.7.9": w.holder("alone")}))
}

// announced creates the Service of a load balancer like an earlier manager, with the address announced.
func (w *fixture) announced(lb *lbv1.LoadBalancer) {
	w.t.Helper()
	service := &corev1.Service{ObjectMeta: w.meta(lb.Name), Spec: corev1.ServiceSpec{
		Type: corev1.ServiceTypeLoadBalancer, LoadBalancerIP: lb.Status.AllocatedAddress.IP, Ports: []corev1.ServicePort{{Name: "http", Port: 80}},
	}}
	service.Labels = map[string]string{lbv1.ServiceLabel: "true"}
	w.create(service)
	w.announce(service, lb.Status.AllocatedAddress.IP)
}
