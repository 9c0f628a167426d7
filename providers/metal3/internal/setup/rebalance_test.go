// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
)

func TestRebalanceControlPlane(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(3, 2))
	infra := f.clusterWith("one", func(infra *infrav1.Metal3Cluster) {
		infra.Spec.Distribution = faultlinev1.Distribution{ControlPlane: faultlinev1.ControlPlaneDistribution{
			Rebalance: faultlinev1.ControlPlaneRebalanceSurgeOne, StabilizationSeconds: ptr.To[int32](0),
		}}
	}, "rack-1", "rack-2")
	f.machineTemplate("template", false, "")
	integration.Move{
		User: f.user(), Infra: infra, Domains: [2]string{"rack-1", "rack-2"}, Template: "Metal3MachineTemplate",
		Member: func(name, rack string, annotations map[string]string) client.Object {
			machine := f.machine("one", name, rack, func(machine *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
				machine.Labels[clusterv1.MachineControlPlaneLabel], metal3.Labels[clusterv1.MachineControlPlaneLabel] = "", ""
				metal3.Annotations = annotations
			})
			f.waitForProvisioned(machine)
			return machine
		},
		Add: func() string {
			update(f, infra, func(infra *infrav1.Metal3Cluster) {
				infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: "rack-3", ControlPlane: ptr.To(true)})
			})
			f.Eventually(func(g Gomega) {
				f.get(infra)
				g.Expect(domain(infra, "rack-3").ControlPlane).To(HaveValue(BeTrue()), "%s", integration.Describe(infra))
			}).Should(Succeed())
			return "rack-3"
		},
	}.Run()
}
