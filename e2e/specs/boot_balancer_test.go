//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
)

// specPools are the labels of the spec's pools.
var specPools = client.MatchingLabels{"e2e.faultline.io/spec": "load-balancer"}

var _ = Describe("Load balancers of clusters on Harvester", Ordered, Label(onlyBoot, "harvester", "load-balancer"), func() {
	const spec = "load-balancer"
	var h *harvesterCluster
	var red, blue *tenant
	var web *corev1.Service
	var address string

	BeforeAll(func(ctx SpecContext) {
		By("Installing the chart of the load balancer on Harvester")
		h = newHarvesterCluster()
		h.takeOver(ctx)
		h.refusesPools(ctx)
		h.clear(ctx, specPools)

		By("Making two clusters with the chart of the cloud provider")
		free := freeAddresses()
		// One of two workers has the addresses of all Services.
		red = newTenant(ctx, spec, h, tenancy{workers: 1, kubeVIP: onWorkers("false"), addresses: free[:2]})
		// A node is elected for each Service; the control-plane node is the only one.
		blue = newTenant(ctx, spec, h, tenancy{
			kubeVIP:   map[string]any{"env": map[string]any{"svc_election": "true", "vip_subnet": "32,128"}},
			addresses: free[8:12], addresses6: freeAddresses6(ctx),
		})
	})

	It("answer only through a node with one of their pods, which sees the client address, with externalTrafficPolicy Local", Label("local-traffic"), func(ctx SpecContext) {
		red.chart().upgrade(ctx, red.values(onWorkers("true")))
		red.chartRuns(ctx, spec, 2)
		first, second := red.workerNodes(ctx)
		there := red.reportClientAddress(ctx, first)
		local := red.exposeLocally(ctx)
		at := red.announced(ctx, spec, local)
		Expect(h.allocated(ctx, Default, red.pool)).To(HaveKey(at))
		red.answersThrough(ctx, spec, at, first)

		By("Moving the pod to another node")
		red.reportClientAddress(ctx, second)
		patiently(func() error { return client.IgnoreNotFound(red.Delete(ctx, there)) })
		red.answersThrough(ctx, spec, at, second)
		Expect(red.announced(ctx, spec, local)).To(Equal(at))

		By("Having one node announce the addresses of all Services again")
		patiently(func() error { return client.IgnoreNotFound(red.Delete(ctx, local)) })
		Eventually(func(g Gomega) { g.Expect(h.allocated(ctx, g, red.pool)).To(BeEmpty()) },
			config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed())
		red.chart().upgrade(ctx, red.values(onWorkers("false")))
	})

	It("answer over kube-vip at an address from the pool of their network", func(ctx SpecContext) {
		red.chartRuns(ctx, spec, 2)
		blue.chartRuns(ctx, spec, 1)
		web = red.expose(ctx, "web", inNetwork(), dnsOverTCP, dnsOverUDP)
		address = red.announced(ctx, spec, web)
		Expect(h.allocated(ctx, Default, red.pool)).To(HaveKeyWithValue(address, HavePrefix(guestNamespace+"/"+red.name+"-")))
		lb := red.balancer(ctx, Default, web)
		Expect(lb.Status.AllocatedAddress.IP).To(Equal(address))
		Expect(lb.Status.AllocatedAddress.IPPool).To(Equal(red.pool))
		Expect(lb.Annotations).To(HaveKeyWithValue(lbv1.NetworkAnnotation, vmNetwork()))
		red.answers(ctx, spec, address, "tcp", "udp")
		Eventually(func(g Gomega) {
			g.Expect(red.balancer(ctx, g, web).Status.Address).To(Equal(address), "Harvester shows where the Service is")
		}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed())
	})

	It("share an address when their ports differ", func(ctx SpecContext) {
		sharing := map[string]string{"cloudprovider.harvesterhci.io/primary-service": web.Namespace + "/" + web.Name}
		metrics := red.expose(ctx, "metrics", sharing, dnsMetrics)
		Expect(red.announced(ctx, spec, metrics)).To(Equal(address))
		Eventually(func(g Gomega) {
			g.Expect(fetchMetrics(ctx, address)).To(ContainSubstring("coredns_build_info"))
		}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed())
		red.answers(ctx, spec, address, "tcp", "udp")
		Expect(h.allocated(ctx, Default, red.pool)).To(HaveLen(1))
		Expect(red.hosts(ctx, Default, address)).To(HaveLen(1))
	})

	It("have no address of the pool of another cluster", func(ctx SpecContext) {
		By("Having the other one's Service answer at an address of its own")
		other := blue.expose(ctx, "web", inNetwork(), dnsOverTCP)
		at := blue.announced(ctx, spec, other)
		Expect(h.allocated(ctx, Default, blue.pool)).To(HaveKey(at))
		blue.answers(ctx, spec, at, "tcp")
		_, err := lookUp(ctx, "tcp", at, red.name)
		Expect(err).To(HaveOccurred(), "the other cluster does not know this one's names")

		By("Asking for more addresses than the pool has")
		second := red.expose(ctx, "second", inNetwork(), dnsOverTCP)
		red.announced(ctx, spec, second)
		third := red.expose(ctx, "third", inNetwork(), dnsOverTCP)
		Eventually(func(g Gomega) {
			g.Expect(red.balancer(ctx, g, third).Status.Conditions).To(ContainElement(And(
				HaveField("Type", lbv1.ReadyCondition), HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "PoolExhausted"))))
		}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed())
		Expect(h.allocated(ctx, Default, blue.pool)).To(HaveLen(1), "some are free there")

		By("Giving one back")
		patiently(func() error { return client.IgnoreNotFound(red.Delete(ctx, second)) })
		Expect(red.announced(ctx, spec, third)).NotTo(Equal(at))
		Expect(h.allocated(ctx, Default, red.pool)).To(HaveKey(third.Status.LoadBalancer.Ingress[0].IP))
		red.answers(ctx, spec, third.Status.LoadBalancer.Ingress[0].IP, "tcp")
	})

	It("have an address of each family and answer at both when they are dual-stack", Label("dual-stack"), func(ctx SpecContext) {
		if blue.pool6 == "" {
			Skip("the network of the machines has no IPv6")
		}
		blue.chartRuns(ctx, spec, 1)
		blue.podsHaveBoth(ctx, spec)
		for name, policy := range map[string]corev1.IPFamilyPolicy{
			"prefers": corev1.IPFamilyPolicyPreferDualStack, "requires": corev1.IPFamilyPolicyRequireDualStack,
		} {
			service := balanced(name, inNetwork(), dnsOverTCP, dnsOverUDP)
			service.Spec.IPFamilyPolicy = &policy
			blue.create(ctx, service)
			addresses := blue.announcedAll(ctx, spec, service, 2)
			Expect(h.allocated(ctx, Default, blue.pool)).To(HaveKey(addresses[0]))
			Expect(h.allocated(ctx, Default, blue.pool6)).To(HaveKey(addresses[1]))
			for _, at := range addresses {
				blue.answers(ctx, spec, at, "tcp", "udp")
			}
		}
	})

	It("have an address of a DHCP server", func(ctx SpecContext) {
		leased := freeAddresses()[12]
		serveAddress(ctx, leased)
		dynamic := blue.expose(ctx, "dynamic", map[string]string{"cloudprovider.harvesterhci.io/ipam": "dhcp"}, dnsOverTCP)
		Expect(blue.announced(ctx, spec, dynamic)).To(Equal(leased))
		blue.answers(ctx, spec, leased, "tcp")
		Eventually(func(g Gomega) {
			g.Expect(blue.balancer(ctx, g, dynamic).Status.Address).To(Equal(leased))
		}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed(), "Harvester is told")
		Expect(h.allocated(ctx, Default, blue.pool)).NotTo(HaveKey(leased))
	})

	It("go on answering when the node with the address is lost", func(ctx SpecContext) {
		within := config.GetIntervals(spec, "wait-load-balancer")
		hosts := red.hosts(ctx, Default, address)
		Expect(hosts).To(HaveLen(1))
		asking := startDNSClient(address, red.name)
		DeferCleanup(asking.stop)
		asking.awaitAnswers(10, within...)

		By("Taking the power from " + hosts[0])
		Expect(cutPower(ctx, environment, hosts[0])).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(red.hosts(ctx, g, address)).To(HaveExactElements(Not(Equal(hosts[0]))))
		}, within...).Should(Succeed(), "another node has it")
		asking.awaitAnswers(50, within...)
		gap := asking.gap()
		AddReportEntry("longest gap between answers of a load balancer whose node is lost", gap.Round(10*time.Millisecond).String())
		Expect(gap).To(BeNumerically("<", longestGap))
		Expect(red.announced(ctx, spec, web)).To(Equal(address))
		Expect(h.allocated(ctx, Default, red.pool)).To(HaveKeyWithValue(address, HavePrefix(guestNamespace+"/"+red.name+"-")))
	})
})

// freeAddresses returns addresses after those of control planes.
func freeAddresses() []string {
	const processes, wanted = 4, 13
	address, err := netip.ParseAddr(environment.Variables()["CONTROL_PLANE_ENDPOINT_IP"])
	Expect(err).NotTo(HaveOccurred())
	for range processes * addressesPerProcess {
		address = address.Next()
	}
	free := make([]string, 0, wanted)
	for range wanted {
		address = address.Next()
		free = append(free, address.String())
	}
	return free
}

// serveAddress runs a DHCP server for one address in the network of the machines, until the end of the spec.
func serveAddress(ctx context.Context, address string) {
	network, err := networkOf(ctx, environment)
	Expect(err).NotTo(HaveOccurred())
	connection, err := listenDHCP(ctx, network.Card)
	if err != nil {
		Skip("no DHCP server can run here: " + err.Error())
	}
	DeferCleanup(connection.Close)
	server := &dhcpServer{Own: network.Gateway, Network: network.Subnet, Free: []netip.Addr{netip.MustParseAddr(address)}}
	go server.Serve(connection)
}

// refusesPools waits until the webhooks of the load balancer reject an invalid pool.
func (h *harvesterCluster) refusesPools(ctx context.Context) {
	wrong := &lbv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Name: "wrong", Labels: specPools},
		Spec:       lbv1.IPPoolSpec{Ranges: []lbv1.Range{{Subnet: "192.0.2.0/24", RangeStart: "192.0.3.10", RangeEnd: "192.0.3.20"}}},
	}
	Eventually(func() error { return h.Create(ctx, wrong.DeepCopy(), client.DryRunAll) },
		config.GetIntervals("default", "wait-load-balancer")...).Should(MatchError(And(ContainSubstring("192.0.3.10"), ContainSubstring("192.0.2.0/24"))))
}

// answers waits until the DNS at an address answers, and identifies itself as this cluster's.
func (t *tenant) answers(ctx context.Context, spec, address string, networks ...string) {
	for _, network := range networks {
		Eventually(func(g Gomega) {
			found, err := lookUp(ctx, network, address, t.name)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(found).To(HaveLen(1))
		}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed(), "%s answers over %s", address, strings.ToUpper(network))
	}
}

// fetchMetrics returns the metrics of a DNS server at an address.
func fetchMetrics(ctx context.Context, address string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	url := "http://" + net.JoinHostPort(address, strconv.Itoa(int(dnsMetrics.Port))) + "/metrics"
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer func() { _ = response.Body.Close() }()
	content, err := io.ReadAll(response.Body)
	return string(content), err
}
