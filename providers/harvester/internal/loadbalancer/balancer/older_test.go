// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package balancer_test

import (
	"testing"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
)

func TestALoadBalancerOfTheOlderVersionKeepsItsAddressAndLeadsToTheMachinesThatItNames(t *testing.T) {
	t.Parallel()
	w := emptyWorld(t)
	preferred := w.pool("preferred", 3, func(p *lbv1.IPPool) { p.Spec.Selector.Priority = uint32(subnets.Load()) }) //nolint:gosec // few
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
	w.leadsTo(lb, map[string]bool{"192.168.0.1": true})
	named("b", "192.168.0.2")
	w.leadsTo(lb, map[string]bool{"192.168.0.1": true, "192.168.0.2": true})
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Annotations).NotTo(HaveKey(lbv1.BackendServersAnnotation)) })
	w.Expect(w.allocated(other)).To(Equal(map[string]string{has: w.holder("old")}))
	w.Expect(w.allocated(preferred)).To(BeEmpty())
}
