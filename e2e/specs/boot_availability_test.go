//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

var _ = Describe("A control plane over three failure domains", Ordered, Label(onlyBoot), func() {
	const spec = "boot"
	var c *cluster
	var w guest

	BeforeAll(func(ctx SpecContext) {
		c = newCluster(ctx, spec, 3, 1)
		c.shortenGrace(ctx)
		c.shortenHealthChecks(ctx)
		w = c.guest(ctx)
		w.deploy(ctx, 2)
		w.served(ctx, spec, 2)
		Expect(slices.Sorted(maps.Values(c.controlPlaneDomains(ctx, Default)))).To(Equal(infra.Domains))
	})

	// Not on bare metal: a host without power cannot be released, and a control plane replaces a machine only once it is deleted.
	// There the machine is remediated by a reboot instead.
	It("loses no write when one of them is cut off, gets a replacement while it is away, and takes it back", Label("cut-off", notOn+"metal3"), func(ctx SpecContext) {
		By("Choosing the domain with the control plane's virtual IP address, which costs clients most")
		leader := w.leader(ctx)
		if leader == "" { // It is outside of the machines.
			leader = c.controlPlaneIn(ctx, infra.Domains[0])
		}
		lost := c.controlPlaneDomains(ctx, Default)[leader]
		Expect(lost).NotTo(BeEmpty(), "domain of %s", leader)
		left := slices.DeleteFunc(slices.Clone(infra.Domains), func(domain string) bool { return domain == lost })
		writer := startWriter(w.config)

		takeBack := c.cutOff(ctx, lost)
		cut := time.Now()
		within := config.GetIntervals(spec, "wait-failure-domain")
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, within...).Should(ConsistOf(left))

		By("Waiting for a replacement in " + fmt.Sprint(left))
		Eventually(func(g Gomega) {
			g.Expect(c.whole(ctx, g)).NotTo(HaveKey(leader))
			g.Expect(slices.Collect(maps.Values(c.controlPlaneDomains(ctx, g)))).To(HaveEach(BeElementOf(left)))
		}, config.GetIntervals(spec, "wait-machine-remediation")...).Should(Succeed())
		AddReportEntry("control plane whole again after", time.Since(cut).Round(time.Second).String())
		if !infra.BreakStops {
			Expect(c.places(ctx)).To(HaveKey(leader), "the machine in the lost domain cannot be removed")
		}
		w.served(ctx, spec, 2)

		By("Taking " + lost + " back")
		takeBack()
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, within...).Should(ConsistOf(infra.Domains))
		Eventually(func(g Gomega) {
			g.Expect(c.places(ctx)).NotTo(HaveKey(leader), "the machine that was replaced is removed")
			c.whole(ctx, g)
			g.Expect(w.ready(ctx, g)).To(Equal(5), "the domain's worker is switched on again")
		}, config.GetIntervals(spec, "wait-nodes-ready")...).Should(Succeed())
		writer.expectNoLostWrites(ctx)
	})

	It("loses no write when it spreads onto a domain again, one machine at a time", Label("rebalance"), func(ctx SpecContext) {
		returned := c.unspread(ctx)
		writer := startWriter(w.config)

		By("Letting the control plane spread onto " + returned)
		began := time.Now()
		c.distribute(ctx, func(distribution *faultlinev1.Distribution) {
			distribution.FailureDomains = nil
			distribution.ControlPlane = faultlinev1.ControlPlaneDistribution{
				Rebalance: faultlinev1.ControlPlaneRebalanceSurgeOne, StabilizationSeconds: ptr.To[int32](5),
			}
		})
		Eventually(func(g Gomega) {
			domains := c.controlPlaneDomains(ctx, g)
			if len(domains) > 4 {
				StopTrying("more than one machine is being moved").Attach("machines", domains).Now()
			}
			g.Expect(slices.Sorted(maps.Values(c.whole(ctx, g)))).To(Equal(infra.Domains))
		}, config.GetIntervals(spec, "wait-machine-upgrade")...).Should(Succeed())
		AddReportEntry("control plane evenly spread after", time.Since(began).Round(time.Second).String())
		w.served(ctx, spec, 2)
		writer.expectNoLostWrites(ctx)
		c.distribute(ctx, func(distribution *faultlinev1.Distribution) {
			distribution.ControlPlane = faultlinev1.ControlPlaneDistribution{}
		})
	})

	It("loses no write when all of its machines are replaced", Label("kcp-rollout"), func(ctx SpecContext) {
		before := c.controlPlaneDomains(ctx, Default)
		writer := startWriter(w.config)
		began := time.Now()
		c.rollControlPlane(ctx)
		Eventually(func(g Gomega) {
			domains := c.whole(ctx, g)
			for machine := range before {
				g.Expect(domains).NotTo(HaveKey(machine))
			}
		}, config.GetIntervals(spec, "wait-machine-upgrade")...).Should(Succeed())
		AddReportEntry("control plane replaced after", time.Since(began).Round(time.Second).String())
		Expect(slices.Sorted(maps.Values(c.controlPlaneDomains(ctx, Default)))).To(Equal(infra.Domains), "evenly spread")
		writer.expectNoLostWrites(ctx)
	})
})

// cutOff cuts off a failure domain with its machines, until takeBack is called or the spec ends.
func (c *cluster) cutOff(ctx context.Context, domain string) (takeBack func()) {
	var machines []string
	for machine, in := range c.places(ctx) {
		if in == domain {
			machines = append(machines, machine)
		}
	}
	By(fmt.Sprintf("Cutting off %s with %s", domain, machines))
	takeBack = infra.fault(ctx, infra.CutOff(domain))
	if !infra.BreakStops {
		Expect(cutPower(ctx, environment, machines...)).To(Succeed())
	}
	return takeBack
}

// unspread returns a failure domain without a control-plane machine. It creates one if necessary, as another fault or an administrator
// would.
func (c *cluster) unspread(ctx context.Context) string {
	if domains := slices.Sorted(maps.Values(c.controlPlaneDomains(ctx, Default))); !slices.Equal(domains, infra.Domains) {
		return slices.DeleteFunc(slices.Clone(infra.Domains), func(domain string) bool { return slices.Contains(domains, domain) })[0]
	}
	domain := infra.Domains[len(infra.Domains)-1]
	By("Taking " + domain + " out of use, with its machine of the control plane")
	c.setDomainIntents(ctx, faultlinev1.FailureDomainIntent{Name: domain, State: faultlinev1.DomainCordoned})
	Eventually(func(g Gomega) []string { return c.published(ctx, g) }, "1m", "200ms").ShouldNot(ContainElement(domain))
	gone := &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: c.namespace, Name: c.controlPlaneIn(ctx, domain)}}
	Expect(management.GetClient().Delete(ctx, gone)).To(Succeed())
	Eventually(func(g Gomega) {
		g.Expect(slices.Collect(maps.Values(c.whole(ctx, g)))).NotTo(ContainElement(domain))
	}, config.GetIntervals("boot", "wait-machine-remediation")...).Should(Succeed())
	return domain
}

// rollControlPlane replaces the machines of the control plane with machines of a new template.
func (c *cluster) rollControlPlane(ctx context.Context) {
	Eventually(func(g Gomega) {
		plane := &controlplanev1.KubeadmControlPlane{}
		g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(c.ControlPlane), plane)).To(Succeed())
		ref := &plane.Spec.MachineTemplate.Spec.InfrastructureRef
		ref.Name = c.copyTemplate(ctx, g, *ref)
		g.Expect(management.GetClient().Update(ctx, plane)).To(Succeed())
	}, "1m", "1s").Should(Succeed())
}

// whole expects three control-plane machines with three healthy etcd members, and returns their failure domains.
func (c *cluster) whole(ctx context.Context, g Gomega) map[string]string {
	observed := c.controlPlaneDomains(ctx, g)
	g.Expect(observed).To(HaveLen(3))
	machines := &clusterv1.MachineList{}
	g.Expect(management.GetClient().List(ctx, machines, c.in(), client.HasLabels{clusterv1.MachineControlPlaneLabel})).To(Succeed())
	g.Expect(machines.Items).To(HaveLen(3))
	for i := range machines.Items {
		for _, condition := range []string{controlplanev1.KubeadmControlPlaneMachineEtcdMemberHealthyCondition, clusterv1.MachineNodeReadyCondition} {
			g.Expect(meta.IsStatusConditionTrue(machines.Items[i].Status.Conditions, condition)).To(BeTrue(), "%s of %s", condition, machines.Items[i].Name)
		}
	}
	plane := &controlplanev1.KubeadmControlPlane{}
	g.Expect(management.GetClient().Get(ctx, client.ObjectKeyFromObject(c.ControlPlane), plane)).To(Succeed())
	g.Expect(meta.IsStatusConditionTrue(plane.Status.Conditions, controlplanev1.KubeadmControlPlaneEtcdClusterHealthyCondition)).To(BeTrue())
	g.Expect(plane.Status.AvailableReplicas).To(HaveValue(BeEquivalentTo(3)))
	return observed
}
