// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package guest_test

import (
	"context"
	"fmt"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// nudge makes Harvester reconcile a load balancer: the simulated one does not watch pools.
func (s *fixture) nudge(cluster, service string) {
	s.t.Helper()
	for _, lb := range s.balancers(cluster) {
		if lb.Labels["cloudprovider.harvesterhci.io/serviceName"] == service {
			before := lb.DeepCopy()
			metav1.SetMetaDataAnnotation(&lb.ObjectMeta, "nudged", "true")
			s.Expect(s.client.Patch(s.t.Context(), &lb, client.MergeFrom(before))).To(Succeed())
		}
	}
}

func TestServicesHaveOneAddressDespiteWrongAllocations(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.9.0/24", "172.19.9.10", "172.19.9.40")
	n := s.count()
	c := s.cluster("blue")
	faults := map[string][]string{"failing": nil, "lost-answers": nil, "conflicts": {"loadbalancers"}, "delayed": nil}
	for name, args := range faults {
		s.Expect(sim.SetFault(t.Context(), name, true, args...)).To(Succeed())
	}
	over := func() {
		for name, args := range faults {
			_ = sim.SetFault(context.WithoutCancel(t.Context()), name, false, args...) // it may have ended
		}
	}
	t.Cleanup(over)
	c.start("--concurrent-service-syncs=4")
	var services []string
	for i := range 12 {
		services = append(services, fmt.Sprintf("web-%d", i))
		c.service(services[i])
		if i == 8 {
			c.provider.kill()
			c.start("--concurrent-service-syncs=4")
		}
	}
	given := map[string]string{}
	for _, name := range services {
		c.Eventually(c.current(name)).Should(HaveField("Status.LoadBalancer.Ingress", HaveLen(1)))
		service, err := c.current(name)()
		s.Expect(err).NotTo(HaveOccurred())
		given[service.Status.LoadBalancer.Ingress[0].IP] = name
	}
	s.Expect(given).To(HaveLen(len(services)), "addresses are unique")
	s.Expect(n.is()).To(Equal([2]int{len(services), 0}), "each has one load balancer all the time")
	for _, name := range services {
		c.remove(name)
	}
	over()
	for _, name := range services {
		c.waitForDeletion(name)
	}
	s.Eventually(func() int { return len(s.balancers("blue")) }).Should(BeZero())
}

func TestAddressSurvivesOutages(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.3.0/24", "172.19.3.10", "172.19.3.20")
	c := s.cluster("blue")
	c.start()
	c.service("web")
	c.waitForAddress("web", "172.19.3.10")
	lb := s.balancers("blue")[0]

	// Changes while it is down are found after a restart.
	c.provider.kill()
	c.service("late")
	c.Expect(s.client.Delete(t.Context(), &lb)).To(Succeed())
	orphan := lb.DeepCopy()
	orphan.ObjectMeta = metav1.ObjectMeta{
		Namespace: s.namespace, Name: "orphan", Labels: map[string]string{}, Annotations: map[string]string{ownerAnnotation: lb.Annotations[ownerAnnotation]},
	}
	for key, value := range lb.Labels {
		orphan.Labels[key] = value
	}
	orphan.Labels["cloudprovider.harvesterhci.io/serviceName"] = "long-gone"
	unknown := orphan.DeepCopy()
	unknown.Name, unknown.Annotations = "unknown", map[string]string{}
	c.Expect(s.client.Create(t.Context(), orphan)).To(Succeed())
	c.Expect(s.client.Create(t.Context(), unknown)).To(Succeed())
	c.start()
	c.waitForAddress("web", "172.19.3.10")
	c.Eventually(func() []lbv1.LoadBalancer { return s.balancers("blue") }).Should(ConsistOf(
		HaveField("Labels", HaveKeyWithValue("cloudprovider.harvesterhci.io/serviceName", "web")),
		HaveField("Labels", HaveKeyWithValue("cloudprovider.harvesterhci.io/serviceName", "late")),
		HaveField("Name", "unknown"), // it has no owner UID
	))
}

func TestSlowAddressNeedsOneLoadBalancer(t *testing.T) {
	s := newFixture(t)
	n := s.count()
	c := s.cluster("blue")
	c.start()
	c.service("web")
	c.waitForEvent("web", "no matched IPPool with requirement")
	// web keeps waiting without blocking other Services.
	c.service("db", annotated(ipamAnnotation, "dhcp"))
	c.waitForAddress("db", "192.168.77.1")
	c.Expect(n.is()).To(Equal([2]int{2, 0}))

	c.provider.kill()
	c.start()
	s.pool("blue", "172.19.2.0/24", "172.19.2.10", "172.19.2.20")
	s.nudge("blue", "web")
	c.waitForAddress("web", "172.19.2.10")
	c.Eventually(func() []lbv1.LoadBalancer { return s.balancers("blue") }).Should(ConsistOf(
		HaveField("Status.Address", "172.19.2.10"), HaveField("Status.Address", "192.168.77.1")))
	c.Expect(n.is()).To(Equal([2]int{2, 0}), "each Service had one load balancer all the time")
}
