// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"fmt"
	"testing"

	. "github.com/onsi/gomega"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestTooManyZonesAreReported(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	cluster := w.cluster("one")
	zones := w.threeZones()
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
	w.stop()
	for i := range faultlinev1.MaxFailureDomains - 2 {
		meta := w.meta(fmt.Sprintf("%s-more-%d", w.name, i))
		meta.Namespace = ""
		w.create(&infrav1.VSphereDeploymentZone{ObjectMeta: meta, Spec: infrav1.VSphereDeploymentZoneSpec{Server: w.vc.Host(), FailureDomain: "none"}})
	}
	w.start()
	message := w.waitForCondition(cluster, infrav1.VSphereClusterFailureDomainsReadyCondition, faultlinev1.ReasonTooManyFailureDomains)
	w.Expect(message).To(ContainSubstring("101"))
	w.waitForPublished(cluster, zones[0].Name, zones[1].Name, zones[2].Name)
}

// A vCenter that hardly responds delays only its own machines.
func TestSlowVCenterDelaysNoOtherCluster(t *testing.T) {
	t.Parallel()
	w := newFixtureWithTemplates(t)
	slow := simulator.Start(t, simulator.ThreeZones())
	w.create(w.secret("slow", slow.Username(), slow.Password()))
	neighbour := w.cluster("slow", onServer(slow), func(c *infrav1.VSphereCluster) { c.Spec.IdentityRef.Name = "slow" })
	w.waitForAvailable(neighbour)

	slow.SetDelay(5 * integration.Timeout)
	slow.ResetCalls()
	var late []*infrav1.VSphereMachine
	for i := range 5 {
		late = append(late, w.machine("slow", fmt.Sprintf("slow-%d", i), "", func(m *infrav1.VSphereMachine) {
			m.Spec.ResourcePool, m.Spec.Datastore = "/dc-1/host/zone-a/Resources", simulator.SharedDatastore
		}))
	}
	w.Eventually(func() int { return slow.Calls()["RetrievePropertiesEx"] }).Should(BeNumerically(">", 0), "it is being waited for")
	var machines []*infrav1.VSphereMachine
	for i := range 5 {
		machines = append(machines, w.worker(fmt.Sprintf("fast-%d", i)))
	}
	for _, machine := range machines {
		w.waitForProvisioned(machine)
	}
	for _, machine := range machines {
		w.remove(machine)
	}
	w.Expect(slow.Calls()["CloneVM_Task"]).To(BeZero(), "all that while the neighbour had not even cloned")
	slow.SetDelay(0)
	for _, machine := range late {
		w.waitForProvisioned(machine)
	}
}
