//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package specs

import (
	"maps"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

var _ = Describe("Failure domains", Serial, Label("failure-domains", onlyFast, demonstrated), func() {
	const spec = "failure-domains"

	It("spread a control plane, replace a machine elsewhere while one is broken, and take it back", func(ctx SpecContext) {
		c := newCluster(ctx, spec, 3, 1)
		c.shortenGrace(ctx)
		domains := infra.Domains
		lost, left := domains[1], []string{domains[0], domains[2]}

		By("Comparing the machines with the infrastructure")
		observed := c.controlPlaneDomains(ctx, Default)
		Expect(slices.Sorted(maps.Values(observed))).To(Equal(domains))
		places := c.places(ctx)
		for machine, domain := range observed {
			Expect(places).To(HaveKeyWithValue(machine, domain))
		}

		By("Breaking " + lost)
		infra.setBroken(ctx, lost, true)
		DeferCleanup(func(ctx SpecContext) { infra.setBroken(ctx, lost, false) }) // in case the spec fails before it does
		within := config.GetIntervals(spec, "wait-failure-domain")
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, within...).Should(ConsistOf(left))

		By("Deleting the control-plane machine in it")
		for name, domain := range observed {
			if domain == lost {
				machine := &clusterv1.Machine{}
				machine.Namespace, machine.Name = c.namespace, name
				Expect(management.GetClient().Delete(ctx, machine)).To(Succeed())
			}
		}
		Eventually(func(g Gomega) []string {
			return slices.Sorted(maps.Values(c.controlPlaneDomains(ctx, g)))
		}, config.GetIntervals(spec, "wait-control-plane")...).Should(And(HaveLen(3), HaveEach(Not(BeEmpty())), Not(ContainElement(lost))))

		By("Repairing " + lost)
		infra.setBroken(ctx, lost, false)
		Eventually(func(g Gomega) []string { return c.published(ctx, g) }, within...).Should(ConsistOf(domains))
	})
})
