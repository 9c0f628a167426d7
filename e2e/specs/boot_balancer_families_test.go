//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"net/netip"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// podSubnet6 is the subnet for the pods of one machine, within the range of bothFamilies.
var podSubnet6 = netip.MustParsePrefix("fd00:10:244:1::/64")

// bothFamilies returns variables for a cluster template that has one quoted range for pods and one for Services. Each becomes one IPv4
// and one IPv6 range.
func bothFamilies() map[string]string {
	return map[string]string{
		"POD_CIDR":     `192.168.0.0/16", "fd00:10:244::/56`,
		"SERVICE_CIDR": `10.96.0.0/12", "fd00:10:96::/112`,
	}
}

// freeAddresses6 returns IPv6 addresses that Docker does not reach, because it assigns from the start of its network; none if the network
// has no IPv6.
func freeAddresses6(ctx context.Context) []string {
	const first, wanted = 0xff10, 4
	network, err := networkOf(ctx, environment)
	Expect(err).NotTo(HaveOccurred())
	if !network.Subnet6.IsValid() {
		return nil
	}
	bytes := network.Subnet6.Masked().Addr().As16()
	bytes[14], bytes[15] = first>>8, first&0xff
	free := make([]string, 0, wanted)
	for address := netip.AddrFrom16(bytes); len(free) < wanted; address = address.Next() {
		free = append(free, address.String())
	}
	return free
}

// podsHaveBoth gives the pods of a single-machine cluster's DNS an address of each family, and has their Services routed in both.
func (t *tenant) podsHaveBoth(ctx context.Context, spec string) {
	nodes := &corev1.NodeList{}
	patiently(func() error { return t.List(ctx, nodes) })
	Expect(nodes.Items).To(HaveLen(1))
	Expect(addPodSubnet(ctx, environment, nodes.Items[0].Name, podSubnet6)).To(Succeed())
	system := client.InNamespace(metav1.NamespaceSystem)
	// The running kube-proxy found no IPv6 when it started.
	patiently(func() error {
		return t.DeleteAllOf(ctx, &corev1.Pod{}, system, client.MatchingLabels{"k8s-app": "kube-proxy"})
	})
	Eventually(func(g Gomega) {
		pods := &corev1.PodList{}
		g.Expect(t.List(ctx, pods, system, client.MatchingLabels{"k8s-app": "kube-dns"})).To(Succeed())
		for i := range pods.Items { // Pods that were created before the machine applied the new network configuration as well.
			if pod := &pods.Items[i]; len(pod.Status.PodIPs) == 1 && pod.DeletionTimestamp.IsZero() {
				g.Expect(client.IgnoreNotFound(t.Delete(ctx, pod))).To(Succeed())
			}
		}
		g.Expect(pods.Items).To(And(Not(BeEmpty()), HaveEach(HaveField("Status.PodIPs", HaveLen(2)))))
	}, config.GetIntervals(spec, "wait-load-balancer")...).Should(Succeed(), "the pods of the DNS have two addresses")
}
