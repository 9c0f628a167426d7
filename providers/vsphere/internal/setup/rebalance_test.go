// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestControlPlaneMachineMovesToAddedZone(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	infra := w.cluster("one", func(infra *infrav1.VSphereCluster) {
		infra.Spec.Distribution.ControlPlane = faultlinev1.ControlPlaneDistribution{
			Rebalance: faultlinev1.ControlPlaneRebalanceSurgeOne, StabilizationSeconds: ptr.To[int32](0),
		}
	})
	zone := func(letter string) string {
		return w.zone(letter, infrav1.Topology{
			Datacenter: "dc-1", ComputeCluster: "zone-" + letter, Datastore: "datastore-" + letter, Networks: []string{"network-" + letter},
		}, nil).Name
	}
	a, b := zone("a"), zone("b")
	w.waitForPublished(infra, a, b)
	integration.Move{
		User: w.user(), Infra: infra, Domains: [2]string{a, b}, Template: "VSphereMachineTemplate",
		Member: func(name, zone string, annotations map[string]string) client.Object {
			machine := w.machine("one", name, zone, controlPlane, func(vsphere *infrav1.VSphereMachine) { vsphere.Annotations = annotations })
			w.waitForProvisioned(machine)
			return machine
		},
		Add: func() string {
			c := zone("c")
			w.waitForPublished(infra, a, b, c)
			return c
		},
	}.Run()
}
