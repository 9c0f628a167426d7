// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package simulator_test

import (
	"context"
	"net/netip"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const eager = "kube-vip.io/allow-reconcile-without-endpoints"

func (s *fixture) balancer(name, pool string) *lbv1.LoadBalancer {
	s.t.Helper()
	lb := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: name}, Spec: lbv1.LoadBalancerSpec{
		WorkloadType: lbv1.WorkloadVM, IPAM: lbv1.IPAMDHCP, BackendServerSelector: map[string][]string{"app": {"test"}},
		Listeners: []lbv1.Listener{{Name: "api-server", Port: 6443, BackendPort: 6443, Protocol: corev1.ProtocolTCP}},
	}}
	if pool != "" {
		lb.Spec.IPAM, lb.Spec.IPPool = lbv1.IPAMPool, pool
	}
	s.Expect(s.client.Create(s.t.Context(), lb)).To(Succeed())
	return lb
}

// pool creates an IP pool that is deleted with the test.
func (s *fixture) pool(first, last string) string {
	s.t.Helper()
	pool := simulator.Pool(s.namespace, "172.17.1.0/24", first, last)
	s.Expect(s.client.Create(s.t.Context(), &pool)).To(Succeed())
	s.t.Cleanup(func() {
		ctx := context.WithoutCancel(s.t.Context())
		s.Expect(s.client.DeleteAllOf(ctx, &lbv1.LoadBalancer{}, client.InNamespace(s.namespace))).To(Succeed())
		s.Eventually(func() error { return s.client.Delete(ctx, &pool) }).Should(Succeed(), "all addresses are released")
	})
	return pool.Name
}

func (s *fixture) ready(name string) func() lbv1.Condition {
	return func() lbv1.Condition {
		lb := &lbv1.LoadBalancer{}
		s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, lb)).To(Succeed())
		if len(lb.Status.Conditions) == 0 {
			return lbv1.Condition{}
		}
		return lb.Status.Conditions[0]
	}
}

func (s *fixture) service(name string) *corev1.Service {
	service := &corev1.Service{}
	s.Expect(s.client.Get(s.t.Context(), client.ObjectKey{Namespace: s.namespace, Name: name}, service)).To(Succeed())
	return service
}

func (s *fixture) announceEagerly(name string) {
	service := s.service(name)
	before := service.DeepCopy()
	metav1.SetMetaDataAnnotation(&service.ObjectMeta, eager, "true")
	s.Expect(s.client.Patch(s.t.Context(), service, client.MergeFrom(before))).To(Succeed())
}

func TestLoadBalancerWaitsForKubeVIP(t *testing.T) {
	s := newFixture(t)
	s.create("vm")
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)
	lb := s.balancer("lb", "")
	s.Eventually(s.ready("lb")).Should(HaveField("Message", "service is waiting for external IP"))

	s.announceEagerly("lb")
	s.Eventually(s.ready("lb")).Should(HaveField("Status", corev1.ConditionTrue))
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(lb), lb)).To(Succeed())
	s.Expect(lb.Status.AllocatedAddress.IP).To(Equal(lbv1.UnspecifiedAddress))
	_, err := netip.ParseAddr(lb.Status.Address)
	s.Expect(err).NotTo(HaveOccurred())
	s.Expect(lb.Status.BackendServers).To(ConsistOf(s.instance("vm").Status.Interfaces[0].IP))
	slice := &discoveryv1.EndpointSlice{}
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(lb), slice)).To(Succeed())
	s.Expect(slice.Endpoints).To(ConsistOf(HaveField("Addresses", lb.Status.BackendServers)))
}

func TestPoolExhausted(t *testing.T) {
	s := newFixture(t)
	pool := s.pool("172.17.1.10", "172.17.1.11")
	s.balancer("lb-1", pool)
	s.Eventually(s.ready("lb-1")).Should(HaveField("Message", "service is waiting for external IP"))
	s.balancer("lb-2", pool)
	s.Eventually(s.ready("lb-2")).Should(HaveField("Message", "service is waiting for external IP"))
	s.Expect(s.service("lb-1").Spec.LoadBalancerIP).To(Equal("172.17.1.10"))
	s.Expect(s.service("lb-2").Spec.LoadBalancerIP).To(Equal("172.17.1.11"))
	third := s.balancer("lb-3", pool)
	s.Eventually(s.ready("lb-3")).Should(HaveField("Message", ContainSubstring("no IP addresses available")))

	first := &lbv1.LoadBalancer{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: "lb-1"}}
	s.Expect(s.client.Delete(t.Context(), first)).To(Succeed())
	s.Eventually(s.ready("lb-3")).Should(HaveField("Message", "service is waiting for external IP"))
	s.Expect(s.client.Get(t.Context(), client.ObjectKeyFromObject(third), third)).To(Succeed())
	s.Expect(third.Status.AllocatedAddress).To(Equal(lbv1.AllocatedAddress{
		IPPool: pool, IP: "172.17.1.10", Mask: "255.255.255.0", Gateway: "172.17.1.1",
	}))
	stored := &lbv1.IPPool{}
	s.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: pool}, stored)).To(Succeed())
	s.Expect(stored.Status.Allocated).To(Equal(map[string]string{
		"172.17.1.10": s.namespace + "/lb-3", "172.17.1.11": s.namespace + "/lb-2",
	}))
}

func TestServiceIsDeletedWithLoadBalancer(t *testing.T) {
	s := newFixture(t)
	lb := s.balancer("lb", "")
	s.Eventually(s.ready("lb")).Should(HaveField("Message", "service is waiting for external IP"))
	s.Expect(s.client.Delete(t.Context(), lb)).To(Succeed())
	s.Eventually(func() ([]corev1.Service, error) {
		left := &corev1.ServiceList{}
		err := s.client.List(t.Context(), left, client.InNamespace(s.namespace))
		return left.Items, err
	}).Should(BeEmpty())
}

func TestForegroundDeletionOfVirtualMachine(t *testing.T) {
	s := newFixture(t)
	vm := s.create("vm")
	s.waitForStatus("vm", kubevirtv1.VirtualMachineStatusRunning)
	s.Expect(s.client.Delete(t.Context(), vm, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
	s.Eventually(func() error { return s.client.Get(t.Context(), client.ObjectKeyFromObject(vm), vm) }).
		Should(MatchError(ContainSubstring("not found")))
}

func TestLoadBalancerUsesReservedAddress(t *testing.T) {
	s := newFixture(t)
	name := s.pool("172.17.1.10", "172.17.1.20")
	pool := &lbv1.IPPool{}
	s.Eventually(func() error {
		s.Expect(s.client.Get(t.Context(), client.ObjectKey{Name: name}, pool)).To(Succeed())
		pool.Status.Allocated = map[string]string{"172.17.1.15": s.namespace + "/lb"}
		return s.client.Update(t.Context(), pool)
	}).Should(Succeed())
	s.balancer("lb", name)
	s.Eventually(s.ready("lb")).Should(HaveField("Message", "service is waiting for external IP"))
	s.Expect(s.service("lb").Spec.LoadBalancerIP).To(Equal("172.17.1.15"))
}
