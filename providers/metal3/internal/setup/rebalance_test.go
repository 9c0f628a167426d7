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
	"github.com/faultline-io/faultline/shared/provider/providertest"
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
	plane := providertest.ControlPlane{Client: w.client, Cluster: client.ObjectKeyFromObject(infra)}
	w.Expect(plane.Create(t.Context(), 3, clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "Metal3MachineTemplate", Name: "template",
	})).To(Succeed())
	member := func(name, rack string) *infrav1.Metal3Machine {
		machine := w.machine("one", name, rack, func(machine *clusterv1.Machine, metal3 *infrav1.Metal3Machine) {
			machine.Labels[clusterv1.MachineControlPlaneLabel], metal3.Labels[clusterv1.MachineControlPlaneLabel] = "", ""
			metal3.Annotations = map[string]string{
				clusterv1.TemplateClonedFromNameAnnotation: "template", clusterv1.TemplateClonedFromGroupKindAnnotation: infrav1.MachineTemplateGroupKind,
			}
		})
		w.provisioned(machine)
		w.Expect(plane.Joined(t.Context(), name)).To(Succeed())
		return machine
	}
	first := member("cp-0", "rack-1")
	member("cp-1", "rack-1")
	member("cp-2", "rack-2")
	w.condition(infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonBalanced)

	update(w, infra, func(infra *infrav1.Metal3Cluster) {
		infra.Spec.FailureDomains = append(infra.Spec.FailureDomains, clusterv1.FailureDomain{Name: "rack-3", ControlPlane: ptr.To(true)})
	})
	w.Eventually(func(g Gomega) {
		w.get(infra)
		g.Expect(domain(infra, "rack-3").ControlPlane).To(HaveValue(BeTrue()), "%s", testworld.Describe(infra))
	}).Should(Succeed())
	w.Expect(plane.CopyDomains(t.Context(), infra)).To(Succeed())
	w.condition(infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonMoving)
	w.get(first)
	w.Expect(first.Annotations).To(HaveKeyWithValue(clusterv1.TemplateClonedFromNameAnnotation, "template-rebalance"))
	machine := &clusterv1.Machine{ObjectMeta: w.meta("cp-0")}
	w.get(machine)
	w.Expect(machine.Annotations).To(HaveKey(clusterv1.DeleteMachineAnnotation))

	w.Expect(plane.Notice(t.Context(), "cp-0")).To(Succeed())
	member("cp-3", "rack-3")
	w.remove(first)
	w.Expect(plane.Report(t.Context(), true)).To(Succeed())
	w.condition(infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonBalanced)
	w.Expect(infra.Status.Distribution.ControlPlane.LastMove).To(HaveValue(And(
		HaveField("Machine", "cp-0"), HaveField("To", "rack-3"), HaveField("Replacement", "cp-3"), HaveField("Phase", faultlinev1.MoveCompleted))))
}
