// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package controllers_test

import (
	"testing"

	. "github.com/onsi/gomega"
	ctrl "sigs.k8s.io/controller-runtime"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestRemovedFinalizer(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue reconciles.
	w := emptyFixture(t)
	person := integration.User{T: t, G: w.WithT, Client: user}
	pool := w.pool("pool", 10)
	lb := w.balancer("lb", forCluster)
	keep := person.Strip(lb, lbv1.LoadBalancerFinalizer)
	writes, config := person.Writes(apiServer)
	w.config = config
	w.run(ctrl.Options{}, nil)
	writes.WaitForBackoff(lb)
	w.waitForMessage(lb, "does not store the finalizer "+lbv1.LoadBalancerFinalizer)
	w.Expect(w.allocated(pool)).To(BeEmpty())
	keep()
	w.waitForMessage(lb, "")
	w.Expect(w.allocated(pool)).To(HaveLen(1))
}

func TestLoadBalancerWriteBackoff(t *testing.T) {
	// Not parallel to other tests, whose objects enqueue reconciles.
	w := emptyFixture(t)
	w.pool("pool", 10)
	lb := w.balancer("lb", forCluster)
	person := integration.User{T: t, G: w.WithT, Client: user}
	writes, config := person.Writes(apiServer)
	w.config = config
	writes.Conflict(lb)
	w.run(ctrl.Options{}, nil)
	writes.WaitForBackoff(lb)
	writes.Conflict()
	w.waitForMessage(lb, "")
}
