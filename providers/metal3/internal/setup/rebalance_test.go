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
	"github.com/faultline-io/faultline/shared/testworld"
)

func TestOneControlPlaneMachineMovesToARackThatIsAdded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.Racks(3, 2))
	infra := w.clusterWith("one", func(infra *infrav1.Metal3Cluster) {
		infra.Spec.Distribution = faultlinev1.Distribution{ControlPlane: faultlinev1.ControlPlaneDistribution{
			Rebalance: faultlinev1.ControlPlaneRebalanceSurgeOne, StabilizationSeconds: ptr.To[int32](0),
		}}
	}, "rack-1", "rack-2")
	w.machineTemplate("template", false, "")
	testworld.Move{
		User: w.user(), Infra: infra, Domains: [2]string{"rack-1", "rack-2"}, Template: "Metal3MachineTemplate",
		Member: func(name, rack string, annotations map[string]string) client.Object {
			machine := w.machine("one", name, rack, func(machine *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
				machine.Labels[clusterv1.MachineControlPlaneLabel], metal3.Labels[clusterv1.MachineControlPlaneLabel] = "", ""
				metal3.Annotations = annotations
			})
			w.provisioned(machine)
			return machine
		},
		Add: func() string {
			update(w, infra, func(infra *infrav1.Metal3Cluster) {
				infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: "rack-3", ControlPlane: ptr.To(true)})
			})
			w.Eventually(func(g Gomega) {
				w.get(infra)
				g.Expect(domain(infra, "rack-3").ControlPlane).To(HaveValue(BeTrue()), "%s", testworld.Describe(infra))
			}).Should(Succeed())
			return "rack-3"
		},
	}.Play()
}
