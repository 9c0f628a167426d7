// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

func TestLoadBalancerOfGuestClusterHasNoService(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 4)
	lb := w.balancer("lb", forCluster)
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{
		IPPool: pool.Name, IP: first(pool, 0), Mask: "255.255.255.0", Gateway: pool.Spec.Ranges[0].Gateway,
	}))
	w.Expect(lb.Status.Address).To(BeEmpty(), "the guest cluster writes it")
	w.Expect(lb.Annotations).NotTo(HaveKey(lbv1.ClaimsAnnotation))
	w.Expect(lb.Finalizers).To(ConsistOf("wrangler.cattle.io/harvester-lb-controller"))
	w.Expect(w.allocated(pool)).To(Equal(map[string]string{first(pool, 0): w.holder("lb")}))
	w.Expect(w.get(&corev1.Service{ObjectMeta: w.meta("lb")})).To(MatchError(ContainSubstring("not found")))
	w.Expect(w.slices(lb)).To(BeEmpty())

	w.Expect(user.Delete(t.Context(), lb)).To(Succeed())
	w.waitForDeletion(lb)
	w.Expect(w.allocated(pool)).To(BeEmpty())
}

func TestEndpointsPrecedeAnnouncement(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	pool := w.pool("a", 4)
	lb := w.balancer("lb")
	w.waitForMessage(lb, "service is waiting for external IP")
	service := w.service(lb)
	w.Expect(service.Spec.Type).To(Equal(corev1.ServiceTypeLoadBalancer))
	w.Expect(service.Spec.LoadBalancerIP).To(Equal(first(pool, 0)))
	w.Expect(service.Spec.Selector).To(BeEmpty())
	w.Expect(service.Labels).To(HaveKeyWithValue("loadbalancer.harvesterhci.io/servicelb", "true"))
	w.Expect(service.OwnerReferences).To(HaveLen(1))
	w.waitForBackends(lb, map[string]bool{"10.52.0.255": true})
	slice := w.slices(lb)[0]
	w.Expect(slice.Name).To(Equal("lb"))
	w.Expect(slice.CreationTimestamp.After(service.CreationTimestamp.Time)).To(BeFalse())
	w.Expect(slice.Endpoints[0].TargetRef.UID).To(BeEquivalentTo("dummy347-546a-4642-9da6-5608endpoint"))

	w.announce(service, first(pool, 0))
	w.waitForMessage(lb, "no running backend servers")
	w.Expect(lb.Status.Address).To(Equal(first(pool, 0)))
	w.machine("vm-1", "192.168.1.5")
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.BackendServers).To(Equal([]string{"192.168.1.5"}))
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true})
}

func TestDHCPAddress(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	lb := w.balancer("lb", byDHCP)
	w.waitForMessage(lb, "service is waiting for external IP")
	service := w.service(lb)
	w.Expect(service.Spec.LoadBalancerIP).To(Equal("0.0.0.0"))
	w.machine("vm-1", "192.168.1.5")
	w.announce(service, "172.16.0.7")
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.Address).To(Equal("172.16.0.7"))
	w.Expect(lb.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{IP: "0.0.0.0"}))
	w.announce(service, "172.16.0.8") // the lease has changed
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Status.Address).To(Equal("172.16.0.8")) })

	cluster := w.balancer("cluster", forCluster, byDHCP)
	w.waitForMessage(cluster, "")
	w.Expect(cluster.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{IP: "0.0.0.0"}))
}

func TestBackendsFollowMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pool("a", 4)
	lb := w.balancer("lb", func(lb *lbv1.LoadBalancer) { lb.Spec.BackendServerSelector["tier"] = []string{"front", "middle"} })
	w.announce(w.service(lb), w.service(lb).Spec.LoadBalancerIP)
	one := w.machine("vm-1")
	w.waitForMessage(lb, "running backend servers have no IP")
	one.Status.Interfaces = interfaces([]string{"192.168.1.5", "fd00::5"})
	w.Expect(user.Update(t.Context(), one)).To(Succeed())
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true})
	w.Eventually(func() map[string]bool { return w.endpoints(lb, discoveryv1.AddressTypeIPv6) }).Should(Equal(map[string]bool{"fd00::5": true}))
	two := w.machine("vm-2", "192.168.1.6")
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true, "192.168.1.6": true})
	one.Status.Interfaces = interfaces([]string{"192.168.1.7"})
	w.Expect(user.Update(t.Context(), one)).To(Succeed())
	w.waitForBackends(lb, map[string]bool{"192.168.1.7": true, "192.168.1.6": true})
	w.Eventually(func() []discoveryv1.EndpointSlice { return w.slices(lb) }).Should(HaveLen(1), "none is left of the family that no machine has")
	one.Labels["tier"] = "back"
	w.Expect(user.Update(t.Context(), one)).To(Succeed())
	w.waitForBackends(lb, map[string]bool{"192.168.1.6": true})
	w.eventually(lb, func(g Gomega) { g.Expect(lb.Status.BackendServers).To(Equal([]string{"192.168.1.6"})) })
	w.waitForMessage(lb, "")
	w.Expect(user.Delete(t.Context(), two)).To(Succeed())
	w.waitForMessage(lb, "no running backend servers")
	w.waitForBackends(lb, map[string]bool{"10.52.0.255": true})
}

func TestSpecChanges(t *testing.T) {
	t.Parallel()
	w := newFixture(t)
	w.pool("a", 4)
	lb := w.balancer("lb")
	service := w.service(lb)
	w.announce(service, service.Spec.LoadBalancerIP)
	w.machine("vm-1", "192.168.1.5")
	other := w.machine("vm-2", "192.168.1.6")
	change(w, other, func(o *kubevirtInstance) { o.Labels = map[string]string{"app": "other"} })
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true})
	nodePort := service.Spec.Ports[0].NodePort
	change(w, lb, func(lb *lbv1.LoadBalancer) {
		lb.Spec.Listeners[0].BackendPort = 9090
		lb.Spec.Listeners = append(lb.Spec.Listeners, lbv1.Listener{Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP, BackendPort: 5353})
		lb.Spec.BackendServerSelector = map[string][]string{"app": {"web", "other"}}
	})
	w.waitForBackends(lb, map[string]bool{"192.168.1.5": true, "192.168.1.6": true})
	w.eventually(service, func(g Gomega) {
		g.Expect(service.Spec.Ports).To(HaveLen(2))
		g.Expect(service.Spec.Ports[0].TargetPort.IntValue()).To(Equal(9090))
		g.Expect(service.Spec.Ports[0].NodePort).To(Equal(nodePort))
		g.Expect(service.Spec.Ports[1].Protocol).To(Equal(corev1.ProtocolUDP))
	})
	w.Expect(*w.slices(lb)[0].Ports[1].Port).To(BeEquivalentTo(5353))
	w.waitForMessage(lb, "")
	w.Expect(lb.Status.Address).To(Equal(service.Spec.LoadBalancerIP))
}
