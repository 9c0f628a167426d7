// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestMarkBackoff(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue reconciles.
	w := newGuestFixture(t)
	quarrel, config := integration.User{T: t, G: w.WithT, Client: user}.Contention(apiServer, "")
	w.config = config
	w.start()
	w.machine("vm-1", "guest")
	lb := w.balancer("one", "guest", lbv1.WorkloadCluster)
	w.Eventually(func(g Gomega) {
		g.Expect(w.get(lb)).To(Succeed())
		g.Expect(lb.Annotations).To(HaveKey(lbv1.MachinesSeenAnnotation))
	}).Should(Succeed())
	quarrel.About(integration.Marked{Object: lb, Mark: lbv1.MachinesSeenAnnotation})
}
