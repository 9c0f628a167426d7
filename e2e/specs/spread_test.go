//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"context"
	"fmt"
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/onsi/gomega/types"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

var _ = Describe("Workers that name no failure domain", Ordered, Label(demonstrated), func() {
	const (
		spec    = "spread"
		workers = 4
	)
	var c *cluster

	BeforeAll(func(ctx SpecContext) {
		c = newCluster(ctx, spec, 1, 0)
		c.distribute(ctx, func(distribution *faultlinev1.Distribution) {
			distribution.Workers = faultlinev1.WorkersDistribution{Enabled: ptr.To(true), Rebalance: faultlinev1.WorkersRebalanceDeleteOne}
			distribution.ControlPlane.StabilizationSeconds = ptr.To[int32](3)
		})
	})

	It("are spread over the failure domains, and onto one that is added, one machine at a time", Label("workers"), func(ctx SpecContext) {
		By("Making a MachineDeployment where there are all failure domains but one")
		some := c.domainsButOne(ctx)
		c.setDomains(ctx, some)
		c.addDeployment(ctx, "", workers)
		before := c.spread(ctx, spec, some)

		By("Adding the failure domain that was left out")
		c.setDomains(ctx, infra.Domains)
		Expect(newIn(c.spread(ctx, spec, infra.Domains), before)).To(HaveLen(1), "a third of four machines is one: the others stay")
	})

	It("stay while a failure domain is lost, spread onto it again when it returns, and stay spread when some of them go", Label("workers", onlyBoot), func(ctx SpecContext) {
		c.shortenGrace(ctx)
		lost := c.domainOfOne(ctx)
		before := c.workersOutside(ctx, Default)

		By("Losing " + lost)
		takeBack := c.cutOff(ctx, lost)
		left := slices.DeleteFunc(slices.Clone(infra.Domains), func(domain string) bool { return domain == lost })
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, config.GetIntervals(spec, "wait-failure-domain")...).Should(ConsistOf(left))

		By("Scaling out by two, which can only go to " + fmt.Sprint(left))
		c.scale(ctx, workers+2)
		var amid map[string]string
		Eventually(func(g Gomega) {
			amid = c.workersOutside(ctx, g)
			fresh := newIn(amid, before)
			g.Expect(fresh).To(HaveLen(2))
			for _, machine := range c.workerMachines(ctx, g) {
				if slices.Contains(fresh, machine.Name) {
					g.Expect(amid[machine.Name]).To(BeElementOf(left))
					g.Expect(conditions.IsTrue(&machine, clusterv1.MachineAvailableCondition)).To(BeTrue())
				}
			}
		}, config.GetIntervals(spec, "wait-worker-nodes")...).Should(Succeed())
		Expect(newIn(before, amid)).To(BeEmpty(), "none is moved out of a failure domain that is lost")

		By("Taking " + lost + " back")
		takeBack()
		whole := c.spread(ctx, spec, infra.Domains)
		Expect(newIn(whole, amid)).To(HaveLen(1), "the fewest machines are replaced")

		By("Scaling in by two at once")
		c.scale(ctx, workers)
		Eventually(func(g Gomega) { c.settled(ctx, g, workers) }, config.GetIntervals(spec, "wait-machine-upgrade")...).Should(Succeed())
		Expect(newIn(c.spread(ctx, spec, infra.Domains), whole)).To(BeEmpty(), "those that stay are spread, without a move")
	})

	It("are in the requested number of logical failure domains", Label("logical"), func(ctx SpecContext) {
		if c.deployment(ctx, Default).Spec.Template.Spec.FailureDomain != "" {
			c.addDeployment(ctx, "", workers) // The other spec, which creates it, was not selected.
		}
		before := c.spread(ctx, spec, infra.Domains)
		for _, step := range []struct{ domains, replaced int }{{3, 0}, {2, 1}, {4, 2}} {
			By(fmt.Sprintf("Requesting %d", step.domains))
			c.distribute(ctx, func(distribution *faultlinev1.Distribution) {
				distribution.Workers.DesiredFailureDomains = ptr.To(int32(step.domains))
			})
			now := c.keyed(ctx, spec, step.domains)
			Expect(newIn(now, before)).To(HaveLen(step.replaced), "the fewest machines are replaced")
			before = now
		}
	})
})

// domainsButOne returns the failure domains except one without machines.
func (c *cluster) domainsButOne(ctx context.Context) []string {
	used := slices.Collect(maps.Values(c.places(ctx)))
	for i, domain := range infra.Domains {
		if !slices.Contains(used, domain) {
			return slices.Delete(slices.Clone(infra.Domains), i, i+1)
		}
	}
	Fail("there is a machine in every failure domain")
	return nil
}

// domainOfOne returns a failure domain with only one machine, which is a worker.
func (c *cluster) domainOfOne(ctx context.Context) string {
	all := c.places(ctx)
	for machine, domain := range c.workersOutside(ctx, Default) {
		if sizes(all)[domain] == 1 {
			AddReportEntry("alone in "+domain, machine)
			return domain
		}
	}
	Fail("there are more machines than one in every failure domain")
	return ""
}

// spread waits until the machines of the MachineDeployment are spread evenly over the failure domains in the outside system, and returns
// the failure domain of each.
func (c *cluster) spread(ctx context.Context, spec string, domains []string) (places map[string]string) {
	nodes := management.GetWorkloadCluster(ctx, c.namespace, c.name).GetClient()
	c.oneAtATime(ctx, spec, func(g Gomega, replicas int) {
		places = c.workersOutside(ctx, g)
		g.Expect(places).To(HaveLen(replicas), "none is between its deletion and its replacement")
		g.Expect(slices.Sorted(maps.Keys(sizes(places)))).To(Equal(domains))
		g.Expect(sizes(places)).To(evenly(len(places), len(domains)))
		c.nodesReport(ctx, g, nodes, places)
	})
	return places
}

// nodesReport expects each machine of the MachineDeployment to have a Node that reports its failure domain in the outside system, the
// region of that domain, and the machine's logical failure domain.
func (c *cluster) nodesReport(ctx context.Context, g Gomega, nodes client.Client, places map[string]string) {
	fresh := &clusterv1.Cluster{}
	g.Expect(management.GetClient().Get(ctx, c.key(), fresh)).To(Succeed())
	regions := map[string]string{}
	for _, domain := range fresh.Status.FailureDomains {
		regions[domain.Name] = domain.Attributes[faultlinev1.RegionAttribute]
	}
	for _, machine := range c.workerMachines(ctx, g) {
		node, domain := &corev1.Node{}, places[machine.Name]
		g.Expect(nodes.Get(ctx, client.ObjectKey{Name: machine.Status.NodeRef.Name}, node)).To(Succeed())
		for label, value := range map[string]string{
			corev1.LabelTopologyZone: domain, corev1.LabelTopologyRegion: regions[domain],
			faultlinev1.DistributionKeyLabel: machine.Labels[faultlinev1.DistributionKeyLabel],
		} {
			g.Expect(node.Labels[label]).To(Equal(value), "label %s of Node %s", label, node.Name)
		}
	}
}

// keyed waits until the machines of the MachineDeployment are spread evenly over a number of logical failure domains, and returns that of
// each. If there are enough failure domains, none may have machines of two logical ones in the outside system.
func (c *cluster) keyed(ctx context.Context, spec string, number int) (keys map[string]string) {
	nodes := management.GetWorkloadCluster(ctx, c.namespace, c.name).GetClient()
	var places map[string]string
	c.oneAtATime(ctx, spec, func(g Gomega, replicas int) {
		keys = map[string]string{}
		for _, machine := range c.workerMachines(ctx, g) {
			keys[machine.Name] = machine.Labels[faultlinev1.DistributionKeyLabel]
		}
		g.Expect(keys).To(HaveLen(replicas), "none is between its deletion and its replacement")
		for i := range number {
			g.Expect(sizes(keys)).To(HaveKey(fmt.Sprintf("%s-%d", c.MachineDeployments[0].Name, i)))
		}
		g.Expect(sizes(keys)).To(And(HaveLen(number), evenly(len(keys), number)))
		places = c.workersOutside(ctx, g)
		c.nodesReport(ctx, g, nodes, places)
	})
	Expect(places).To(HaveLen(len(keys)))
	if number > len(infra.Domains) {
		return keys
	}
	shared := map[string]string{}
	for machine, domain := range places {
		if other, taken := shared[domain]; taken {
			Expect(keys[machine]).To(Equal(other), "%s is in %s", machine, domain)
		}
		shared[domain] = keys[machine]
	}
	return keys
}

// oneAtATime waits until nothing moves and the check succeeds. It fails if two machines are deleted at the same time.
func (c *cluster) oneAtATime(ctx context.Context, spec string, check func(g Gomega, replicas int)) {
	replicas := *c.deployment(ctx, Default).Spec.Replicas
	Eventually(func(g Gomega) {
		var going []string
		for _, machine := range c.workerMachines(ctx, g) {
			if machine.DeletionTimestamp != nil {
				going = append(going, machine.Name)
			}
		}
		if len(going) > 1 {
			StopTrying("more than one machine is being moved").Attach("machines", going).Now()
		}
		c.settled(ctx, g, replicas)
		check(g, int(replicas))
	}, config.GetIntervals(spec, "wait-machine-upgrade")...).Should(Succeed())
}

// workerMachines returns the Machines of the MachineDeployment.
func (c *cluster) workerMachines(ctx context.Context, g Gomega) []clusterv1.Machine {
	machines := &clusterv1.MachineList{}
	g.Expect(management.GetClient().List(ctx, machines, c.in(), client.MatchingLabels{clusterv1.MachineDeploymentNameLabel: c.MachineDeployments[0].Name})).
		To(Succeed())
	return machines.Items
}

// workersOutside returns the failure domains of the MachineDeployment's machines in the outside system.
func (c *cluster) workersOutside(ctx context.Context, g Gomega) map[string]string {
	all, workers := c.places(ctx), map[string]string{}
	for _, machine := range c.workerMachines(ctx, g) {
		g.Expect(all).To(HaveKey(machine.Name))
		workers[machine.Name] = all[machine.Name]
	}
	return workers
}

// sizes returns the number of machines in each group.
func sizes(groups map[string]string) map[string]int {
	counted := map[string]int{}
	for _, group := range groups {
		counted[group]++
	}
	return counted
}

// evenly matches sizes of groups that differ by at most one.
func evenly(machines, groups int) types.GomegaMatcher {
	return HaveEach(And(BeNumerically(">=", machines/groups), BeNumerically("<=", (machines+groups-1)/groups)))
}

// newIn returns the new machines.
func newIn(now, before map[string]string) []string {
	var fresh []string
	for machine := range now {
		if _, known := before[machine]; !known {
			fresh = append(fresh, machine)
		}
	}
	return fresh
}
