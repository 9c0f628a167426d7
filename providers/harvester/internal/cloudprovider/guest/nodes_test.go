// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest_test

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

func TestNodeIsInitializedWithAddressesAndZoneAndAServiceGetsItsAddress(t *testing.T) {
	s := newSite(t)
	s.pool("blue", "172.19.1.0/24", "172.19.1.10", "172.19.1.20")
	vmi := s.vm("node-1")
	c := s.cluster("blue")
	c.node("node-1")
	c.start()

	c.Eventually(c.read("node-1")).Should(And(
		HaveField("Spec.Taints", Not(ContainElement(HaveField("Key", uninitialized)))),
		HaveField("Spec.ProviderID", "harvester://"+string(vmi.OwnerReferences[0].UID)),
		HaveField("Labels", HaveKeyWithValue(corev1.LabelTopologyZone, s.zone("node-1"))),
		HaveField("Status.Addresses", ConsistOf(
			corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: vmi.Status.Interfaces[0].IP},
			corev1.NodeAddress{Type: corev1.NodeHostName, Address: "node-1"},
		)),
	))

	c.service("web")
	c.Eventually(c.current("web")).Should(And(
		HaveField("Annotations", HaveKeyWithValue("kube-vip.io/loadbalancerIPs", "172.19.1.10")),
		HaveField("Spec.LoadBalancerIP", "172.19.1.10"),
		HaveField("Status.LoadBalancer.Ingress", ConsistOf(HaveField("IP", "172.19.1.10"))),
	))
	c.Eventually(func() string { return s.balancers("blue")[0].Status.Address }).Should(Equal("172.19.1.10"))

	service, err := c.current("web")()
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.client.Delete(t.Context(), service)).To(Succeed())
	c.Eventually(func() error {
		return client.IgnoreNotFound(c.client.Get(t.Context(), client.ObjectKeyFromObject(service), service))
	}).Should(Succeed())
	c.Eventually(func() int { return len(s.balancers("blue")) }).Should(BeZero())
}
