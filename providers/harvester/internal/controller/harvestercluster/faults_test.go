// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package harvestercluster_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

func TestFailingHarvesterGetsNoDuplicatesAndNoLeftovers(t *testing.T) {
	t.Parallel()
	faulty := simulator.Start(t, simulator.WithLayout(simulator.Layout{}))
	w := newFixtureOn(t, faulty, "a", "b")
	faulty.Fail(0.2)
	faulty.LoseAnswers(0.3)
	faulty.Conflict("loadbalancers", 0.3)
	var clusters []*infrav1.HarvesterCluster
	for i := range 5 {
		clusters = append(clusters, w.cluster(fmt.Sprintf("c%d", i), fromPool(100+i)))
	}
	for _, cluster := range clusters {
		w.waitForProvisioned(cluster)
	}
	w.Expect(w.balancers()).To(HaveLen(len(clusters)))
	pools := &lbv1.IPPoolList{}
	w.Expect(w.harvester.List(t.Context(), pools)).To(Succeed())
	w.Expect(pools.Items).To(HaveLen(len(clusters)))

	for _, cluster := range clusters {
		w.Expect(user.Delete(t.Context(), cluster)).To(Succeed())
	}
	for _, cluster := range clusters {
		w.waitForDeletion(cluster)
	}
	w.expectNoLoadBalancers()
	w.Expect(w.harvester.List(t.Context(), pools)).To(Succeed())
	w.Expect(pools.Items).To(BeEmpty())
}
