//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"maps"
	"slices"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

var _ = Describe("A cluster on bare metal that boots", Label(onlyBoot, "metal3"), func() {
	const spec = "boot"

	It("is spread over racks, and reboots a machine whose rack had no power", func(ctx SpecContext) {
		c := newClusterOf(ctx, spec, template{flavor: "remediation"}, 3, 1)
		c.shortenHealthChecks(ctx)
		Expect(slices.Sorted(maps.Values(c.controlPlaneDomains(ctx, Default)))).To(Equal(infra.Domains))
		nodes := management.GetWorkloadCluster(ctx, c.namespace, c.name).GetClient()
		c.nodesAreHosts(ctx, nodes)
		places := c.places(ctx)

		lost := infra.Domains[2] // it has no worker
		machine := c.controlPlaneIn(ctx, lost)
		By("Taking the power from " + lost + ", where " + machine + " is")
		fault := infra.CutOff(lost)
		Expect(makeFault(ctx, environment, infra, fault, true)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(makeFault(ctx, environment, infra, fault, false)).To(Succeed()) })
		within := config.GetIntervals(spec, "wait-machine-remediation")
		Eventually(func(g Gomega) {
			g.Expect(readiness(ctx, g, nodes, machine)).To(Equal(corev1.ConditionUnknown))
			remediation := &infrav1.Metal3Remediation{}
			g.Expect(management.GetClient().Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: machine}, remediation)).To(Succeed())
		}, within...).Should(Succeed(), "two of three answer, and the third is remediated")

		By("Giving it back")
		Expect(makeFault(ctx, environment, infra, fault, false)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(readiness(ctx, g, nodes, machine)).To(Equal(corev1.ConditionTrue))
			remediations := &infrav1.Metal3RemediationList{}
			g.Expect(management.GetClient().List(ctx, remediations, c.in())).To(Succeed())
			g.Expect(remediations.Items).To(BeEmpty())
		}, within...).Should(Succeed())
		Expect(c.places(ctx)).To(Equal(places), "no machine was replaced")
	})
})

// nodesAreHosts expects each machine to have a Node that identifies its host, with the host's address and domain.
func (c *cluster) nodesAreHosts(ctx context.Context, nodes client.Client) {
	hosts := &bmov1alpha1.BareMetalHostList{}
	Expect(management.GetClient().List(ctx, hosts, c.in())).To(Succeed())
	found := 0
	for i := range hosts.Items {
		host := &hosts.Items[i]
		if host.Spec.ConsumerRef == nil {
			continue
		}
		found++
		node := &corev1.Node{}
		Expect(nodes.Get(ctx, client.ObjectKey{Name: host.Spec.ConsumerRef.Name}, node)).To(Succeed())
		Expect(node.Spec.ProviderID).To(Equal(infrav1.ProviderIDPrefix + host.Namespace + "/" + host.Name + "/" + node.Name))
		Expect(node.Labels).To(HaveKeyWithValue(corev1.LabelTopologyZone, host.Labels[infrav1.FailureDomainLabel]))
		Expect(node.Status.Addresses).To(ContainElement(corev1.NodeAddress{
			Type: corev1.NodeInternalIP, Address: host.Status.HardwareDetails.NIC[0].IP,
		}))
	}
	machines := &clusterv1.MachineList{}
	Expect(management.GetClient().List(ctx, machines, c.in())).To(Succeed())
	Expect(machines.Items).To(HaveLen(found))
	for i := range machines.Items {
		Expect(machines.Items[i].Status.NodeRef.Name).To(Equal(machines.Items[i].Name))
	}
}

// readiness returns the status of a node's Ready condition.
func readiness(ctx context.Context, g Gomega, nodes client.Client, name string) corev1.ConditionStatus {
	node := &corev1.Node{}
	g.Expect(nodes.Get(ctx, client.ObjectKey{Name: name}, node)).To(Succeed())
	for _, condition := range node.Status.Conditions {
		if condition.Type == corev1.NodeReady {
			return condition.Status
		}
	}
	return ""
}
