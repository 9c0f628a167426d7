// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// A controller that cannot read its machines must not report them as not ready: Cluster API would count them as unavailable.
func TestRunningMachinesStayReadyDuringOutage(t *testing.T) {
	t.Parallel()
	w := newFixtureWithoutManagerOn(t, simulator.Start(t, simulator.WithLayout(simulator.Layout{}), simulator.WithHooks(simulator.Hooks{PowerOn: boot})))
	w.host("h-1", zoneName(1))
	w.start()
	cluster := w.cluster("c")
	running := w.machine("c", "running", zoneName(1))
	w.waitForProvisioned(running)
	w.waitForReason(running, clusterv1.ReadyCondition, clusterv1.ReadyReason)
	version := func() string {
		w.Expect(w.client.Get(t.Context(), client.ObjectKeyFromObject(running), running)).To(Succeed())
		return running.ResourceVersion
	}
	before := version()

	w.Expect(w.sim.SetFault(t.Context(), "down", true)).To(Succeed())
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionFailedReason)
	waiting := w.machine("c", "waiting", zoneName(1))
	w.waitForReason(waiting, infrav1.InfrastructureReadyCondition, infrav1.HarvesterConnectionFailedReason)
	w.Expect(version()).To(Equal(before))

	w.Expect(w.sim.SetFault(t.Context(), "down", false)).To(Succeed())
	w.waitForReason(cluster, infrav1.HarvesterConnectionReadyCondition, infrav1.HarvesterConnectionReadyReason)
	w.waitForProvisioned(waiting)
	w.Expect(version()).To(Equal(before), "there was nothing to correct")
}
