// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package guest_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const (
	vipAnnotation       = "kube-vip.io/loadbalancerIPs"
	ipamAnnotation      = "cloudprovider.harvesterhci.io/ipam"
	primaryAnnotation   = "cloudprovider.harvesterhci.io/primary-service"
	networkAnnotation   = "cloudprovider.harvesterhci.io/network"
	ownerAnnotation     = "cloudprovider.harvesterhci.io/cluster-uid"
	projectAnnotation   = "cloudprovider.harvesterhci.io/project"
	namespaceAnnotation = "cloudprovider.harvesterhci.io/namespace"
)

func annotated(pairs ...string) func(*corev1.Service) {
	return func(s *corev1.Service) {
		for n := 0; n < len(pairs); n += 2 {
			metav1.SetMetaDataAnnotation(&s.ObjectMeta, pairs[n], pairs[n+1])
		}
	}
}

func port(name string, number int32, protocol corev1.Protocol) func(*corev1.Service) {
	return func(s *corev1.Service) {
		s.Spec.Ports = []corev1.ServicePort{{Name: name, Port: number, Protocol: protocol}}
	}
}

// waitForAddress waits until the status of a Service has the addresses.
func (c *cluster) waitForAddress(name string, addresses ...string) {
	c.t.Helper()
	var want []any
	for _, address := range addresses {
		want = append(want, HaveField("IP", address))
	}
	c.Eventually(c.current(name)).Should(HaveField("Status.LoadBalancer.Ingress", ConsistOf(want...)), "the address of %s", name)
}

// update changes a Service.
func (c *cluster) update(name string, change func(*corev1.Service)) {
	c.t.Helper()
	service, err := c.current(name)()
	c.Expect(err).NotTo(HaveOccurred())
	before := service.DeepCopy()
	change(service)
	c.Expect(c.client.Patch(c.t.Context(), service, client.MergeFrom(before))).To(Succeed())
}

func (c *cluster) remove(name string) {
	c.t.Helper()
	service, err := c.current(name)()
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(c.client.Delete(c.t.Context(), service)).To(Succeed())
}

func (c *cluster) waitForDeletion(name string) {
	c.t.Helper()
	c.Eventually(func() error {
		_, err := c.current(name)()
		return err
	}).Should(MatchError(ContainSubstring("not found")))
}

// waitForEvent waits for an event of a Service.
func (c *cluster) waitForEvent(name, text string) {
	c.t.Helper()
	c.Eventually(func() ([]corev1.Event, error) {
		list := &corev1.EventList{}
		err := c.client.List(c.t.Context(), list, client.InNamespace("default"))
		return list.Items, err
	}).Should(ContainElement(And(HaveField("InvolvedObject.Name", name), HaveField("Message", ContainSubstring(text)))))
}

// warnings returns the warning events of a Service about its load balancer.
func (c *cluster) warnings(name string) []string {
	c.t.Helper()
	others := []string{
		"UnAvailableLoadBalancer", // there are no Nodes
		"ClusterIPNotAllocated",   // an API server that has just started checks its cluster IPs while the Service is created
	}
	list := &corev1.EventList{}
	c.Expect(c.client.List(c.t.Context(), list, client.InNamespace("default"))).To(Succeed())
	var all []string
	for _, event := range list.Items {
		if event.InvolvedObject.Name == name && event.Type == corev1.EventTypeWarning && !slices.Contains(others, event.Reason) {
			all = append(all, event.Reason+": "+event.Message)
		}
	}
	return all
}

func TestNoWarningWhileServiceAwaitsAddress(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.12.0/24", "172.19.12.10", "172.19.12.20")
	n := s.count()
	c := s.cluster("blue")
	c.Expect(sim.SetFault(t.Context(), "delayed", true)).To(Succeed())
	t.Cleanup(func() { _ = sim.SetFault(context.WithoutCancel(t.Context()), "delayed", false) }) // it may have ended
	c.start()
	c.service("web")
	c.waitForAddress("web", "172.19.12.10")
	c.Expect(c.warnings("web")).To(BeEmpty())
	c.Expect(n.is()).To(Equal([2]int{1, 0}))

	// The user is warned if action is needed, and the framework does not repeat the warning.
	c.service("stuck", annotated(networkAnnotation, "default/nowhere"))
	c.waitForEvent("stuck", "no matched IPPool with requirement")
	c.Expect(c.warnings("stuck")).To(ConsistOf(HavePrefix("WaitingForAddress: ")))
}

// counter counts created and deleted load balancers of a namespace.
type counter struct {
	mu         sync.Mutex
	made, gone int
}

func (s *fixture) count() *counter {
	s.t.Helper()
	n := &counter{}
	events, err := s.client.Watch(s.t.Context(), &lbv1.LoadBalancerList{}, client.InNamespace(s.namespace))
	s.Expect(err).NotTo(HaveOccurred())
	s.t.Cleanup(events.Stop)
	go func() {
		for event := range events.ResultChan() {
			n.mu.Lock()
			switch event.Type { //nolint:exhaustive // others are changes
			case watch.Added:
				n.made++
			case watch.Deleted:
				n.gone++
			}
			n.mu.Unlock()
		}
	}()
	return n
}

func (n *counter) is() [2]int {
	n.mu.Lock()
	defer n.mu.Unlock()
	return [2]int{n.made, n.gone}
}

func TestClustersOfOneNamespaceHaveTheirOwnLoadBalancers(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.4.0/24", "172.19.4.10", "172.19.4.20")
	s.pool("green", "172.19.5.0/24", "172.19.5.10", "172.19.5.20")
	blue, green := s.cluster("blue"), s.cluster("green")
	blue.start()
	green.start()
	blue.service("web")
	green.service("web")
	blue.waitForAddress("web", "172.19.4.10")
	green.waitForAddress("web", "172.19.5.10")

	green.remove("web")
	green.waitForDeletion("web")
	s.Eventually(func() int { return len(s.balancers("green")) }).Should(BeZero())
	s.Expect(s.balancers("blue")).To(HaveLen(1))
	blue.waitForAddress("web", "172.19.4.10")

	// A cluster with the name of another could get its addresses.
	green.provider.kill()
	green.start("--cluster-name=" + blue.name)
	green.service("web")
	green.waitForEvent("web", "set a unique --cluster-name for each cluster of that namespace")
	s.Expect(s.balancers("blue")).To(HaveLen(1))
	green.remove("web")
	green.waitForDeletion("web")
	s.Expect(s.balancers("blue")).To(HaveLen(1))
	blue.waitForAddress("web", "172.19.4.10")
}

func TestServicesShareAddressUntilLastIsDeleted(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.6.0/24", "172.19.6.10", "172.19.6.20")
	c := s.cluster("blue")
	c.start()
	shares := annotated(primaryAnnotation, "default/dns")
	c.service("dns-udp", shares, port("dns", 53, corev1.ProtocolUDP))
	c.waitForEvent("dns-udp", "does not exist")
	c.service("dns", port("dns", 53, corev1.ProtocolTCP))
	c.waitForAddress("dns", "172.19.6.10")
	c.waitForAddress("dns-udp", "172.19.6.10")
	c.service("taken", shares, port("dns", 53, corev1.ProtocolTCP))
	c.waitForEvent("taken", "port 53/TCP is already used by Service default/dns")
	c.Eventually(c.current("dns-udp")).Should(HaveField("Labels", HaveKeyWithValue(primaryAnnotation, "default.dns")))
	c.Expect(s.balancers("blue")).To(HaveLen(1))

	// A Service that had its own address releases it.
	c.service("web")
	c.waitForAddress("web", "172.19.6.11")
	c.update("web", shares)
	c.waitForAddress("web", "172.19.6.10")
	c.Eventually(func() int { return len(s.balancers("blue")) }).Should(Equal(1))

	c.remove("taken")
	c.waitForDeletion("taken")
	c.remove("dns")
	c.waitForEvent("dns", "shares the address by annotation ")
	c.waitForAddress("dns-udp", "172.19.6.10")
	c.Expect(s.balancers("blue")).To(HaveLen(1), "the address stays while a Service has it")
	c.remove("dns-udp")
	c.update("web", func(service *corev1.Service) { delete(service.Annotations, primaryAnnotation) })
	c.waitForDeletion("dns-udp")
	c.waitForDeletion("dns")
	c.waitForAddress("web", "172.19.6.11")
	c.Eventually(func() int { return len(s.balancers("blue")) }).Should(Equal(1))
}

func TestServiceOfOtherTypeReleasesAddress(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.7.0/24", "172.19.7.10", "172.19.7.20")
	c := s.cluster("blue")
	c.start()
	local := func(service *corev1.Service) {
		service.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		service.Spec.Ports = []corev1.ServicePort{
			{Name: "tcp", Port: 443, Protocol: corev1.ProtocolTCP}, {Name: "udp", Port: 443, Protocol: corev1.ProtocolUDP}, {Name: "http", Port: 80, Protocol: corev1.ProtocolTCP},
		}
	}
	c.service("web", local)
	c.waitForAddress("web", "172.19.7.10")
	web, err := c.current("web")()
	c.Expect(err).NotTo(HaveOccurred())
	c.Expect(web.Spec.ExternalTrafficPolicy).To(Equal(corev1.ServiceExternalTrafficPolicyLocal))
	c.Expect(web.Spec.HealthCheckNodePort).NotTo(BeZero())
	c.Expect(web.Spec.Ports).To(HaveLen(3))
	asked := web.Spec.HealthCheckNodePort
	c.update("web", annotated("example.com/note", "changed"))
	c.Consistently(c.current("web"), "500ms").Should(HaveField("Spec.HealthCheckNodePort", asked))
	other := c.service("other", func(service *corev1.Service) { service.Spec.LoadBalancerClass = ptr.To("example.com/other") })

	c.update("web", func(service *corev1.Service) {
		service.Spec.Type, service.Spec.ExternalTrafficPolicy = corev1.ServiceTypeClusterIP, ""
	})
	c.Eventually(func() int { return len(s.balancers("blue")) }).Should(BeZero())
	c.Eventually(c.current("web")).Should(And(
		HaveField("Annotations", Not(HaveKey(vipAnnotation))), HaveField("Spec.LoadBalancerIP", ""), HaveField("Status.LoadBalancer.Ingress", BeEmpty()),
		HaveField("Finalizers", BeEmpty()),
	))
	c.update("web", func(service *corev1.Service) { service.Spec.Type = corev1.ServiceTypeLoadBalancer })
	c.waitForAddress("web", "172.19.7.10")
	c.Expect(c.current(other.Name)()).To(HaveField("Annotations", Not(HaveKey(vipAnnotation))), "another class is another's business")
}

func TestDualStackServiceHasAddressOfEachFamily(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.8.0/24", "172.19.8.10", "172.19.8.20")
	six := simulator.Pool(s.namespace+"-six", "fd00:19:8::/120", "fd00:19:8::10", "fd00:19:8::20")
	s.Expect(s.client.Create(t.Context(), &six)).To(Succeed())
	c := s.cluster("blue")
	c.start("--ipv6-pool=" + six.Name)
	c.service("web", both(corev1.IPFamilyPolicyRequireDualStack))
	c.waitForAddress("web", "172.19.8.10", "fd00:19:8::10")
	c.Expect(c.current("web")()).To(HaveField("Spec.LoadBalancerIP", "172.19.8.10"))
	c.Eventually(func() []lbv1.LoadBalancer { return s.balancers("blue") }).Should(ConsistOf(
		HaveField("Status.Address", "172.19.8.10"), HaveField("Status.Address", "fd00:19:8::10")))

	c.update("web", func(service *corev1.Service) {
		service.Spec.IPFamilyPolicy = ptr.To(corev1.IPFamilyPolicySingleStack)
		service.Spec.IPFamilies, service.Spec.ClusterIPs = service.Spec.IPFamilies[:1], service.Spec.ClusterIPs[:1]
	})
	c.waitForAddress("web", "172.19.8.10")
	c.Eventually(func() int { return len(s.balancers("blue")) }).Should(Equal(1))
}

func both(policy corev1.IPFamilyPolicy) func(*corev1.Service) {
	return func(service *corev1.Service) {
		service.Spec.IPFamilyPolicy = &policy
		service.Spec.IPFamilies = []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol}
	}
}

func TestDualStackServiceReportsFamilyWithoutPool(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.10.0/24", "172.19.10.10", "172.19.10.20")
	c := s.cluster("blue")
	c.start()
	c.service("web", both(corev1.IPFamilyPolicyPreferDualStack))
	c.waitForAddress("web", "172.19.10.10")
	c.service("strict", both(corev1.IPFamilyPolicyRequireDualStack))
	c.waitForAddress("strict", "172.19.10.11")
	c.waitForEvent("strict", "has no IPv6 address: set a pool for that family with the cloud provider's flag --ipv6-pool")
	c.Expect(c.warnings("web")).To(BeEmpty(), "one is enough for it")
}

func TestServiceWithoutAddressOfSecondFamily(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.13.0/24", "172.19.13.10", "172.19.13.20")
	c := s.cluster("blue")
	c.start("--ipv6-pool=" + s.namespace + "-typo")
	c.service("web", both(corev1.IPFamilyPolicyPreferDualStack))
	c.waitForAddress("web", "172.19.13.10")
	c.waitForEvent("web", "has no IPv6 address, which it prefers but does not require: LoadBalancer "+s.namespace)
	c.Expect(c.warnings("web")).To(ConsistOf(HavePrefix("AddressMissing: ")))
	c.service("strict", both(corev1.IPFamilyPolicyRequireDualStack))
	c.waitForEvent("strict", "-typo")
	c.Expect(c.current("strict")()).To(And(HaveField("Annotations", Not(HaveKey(vipAnnotation))), HaveField("Spec.LoadBalancerIP", "")))

	// After the flag is corrected, both get their missing address.
	six := simulator.Pool(s.namespace+"-six", "fd00:19:13::/120", "fd00:19:13::10", "fd00:19:13::20")
	s.Expect(s.client.Create(t.Context(), &six)).To(Succeed())
	c.provider.kill()
	c.start("--ipv6-pool=" + six.Name)
	for _, name := range []string{"web", "strict"} {
		c.Eventually(c.current(name)).Should(HaveField("Status.LoadBalancer.Ingress", ConsistOf(
			HaveField("IP", HavePrefix("172.19.13.1")), HaveField("IP", HavePrefix("fd00:19:13::1")))), name)
	}
}

func TestServiceReportsIgnoredSettings(t *testing.T) {
	s := newFixture(t)
	s.pool("blue", "172.19.14.0/24", "172.19.14.10", "172.19.14.20")
	c := s.cluster("blue")
	c.start()
	c.service("web", annotated(namespaceAnnotation, "elsewhere"))
	c.waitForAddress("web", "172.19.14.10")
	c.waitForEvent("web", `annotation cloudprovider.harvesterhci.io/namespace is "elsewhere"`)
	c.service("own", func(service *corev1.Service) { service.Spec.LoadBalancerIP = "192.0.2.7" })
	c.waitForAddress("own", "172.19.14.11")
	c.waitForEvent("own", "requested address 192.0.2.7")
	c.service("annotated", annotated(vipAnnotation, "192.0.2.8", namespaceAnnotation, s.namespace))
	c.waitForAddress("annotated", "172.19.14.12")
	c.waitForEvent("annotated", "requested address 192.0.2.8")
	c.Expect(c.warnings("annotated")).NotTo(ContainElement(HavePrefix("AnnotationIgnored")), "it names the namespace that it is in")

	c.update("web", annotated(projectAnnotation, "c-1:p-2"))
	c.waitForEvent("web", `annotation cloudprovider.harvesterhci.io/project is "c-1:p-2"`)
}
