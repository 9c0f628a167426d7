// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider/providertest"
)

func TestOneControlPlaneMachineMovesToAZoneThatIsAdded(t *testing.T) {
	t.Parallel()
	w := newWorld(t, simulator.ThreeZones())
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
	w.publishes(infra, a, b)
	plane := providertest.ControlPlane{Client: w.client, Cluster: client.ObjectKeyFromObject(infra)}
	w.Expect(plane.Create(t.Context(), 3, clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "VSphereMachineTemplate", Name: "template",
	})).To(Succeed())
	member := func(name, zone string) *infrav1.VSphereMachine {
		machine := w.machine("one", name, zone, controlPlane, func(vsphere *infrav1.VSphereMachine) {
			vsphere.Annotations = map[string]string{
				clusterv1.TemplateClonedFromNameAnnotation:      "template",
				clusterv1.TemplateClonedFromGroupKindAnnotation: "VSphereMachineTemplate." + infrav1.GroupVersion.Group,
			}
		})
		w.provisioned(machine)
		w.Expect(plane.Joined(t.Context(), name)).To(Succeed())
		return machine
	}
	first := member("cp-0", a)
	member("cp-1", a)
	member("cp-2", b)
	w.condition(infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonBalanced)

	c := zone("c")
	w.publishes(infra, a, b, c)
	w.Expect(plane.CopyDomains(t.Context(), infra)).To(Succeed())
	w.condition(infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonMoving)
	w.get(first)
	w.Expect(first.Annotations).To(HaveKeyWithValue(clusterv1.TemplateClonedFromNameAnnotation, "template-rebalance"))
	machine := &clusterv1.Machine{ObjectMeta: w.meta("cp-0")}
	w.get(machine)
	w.Expect(machine.Annotations).To(HaveKey(clusterv1.DeleteMachineAnnotation))

	w.Expect(plane.Notice(t.Context(), "cp-0")).To(Succeed())
	member("cp-3", c)
	w.remove(first)
	w.Expect(client.IgnoreNotFound(w.client.Delete(t.Context(), machine))).To(Succeed())
	w.Expect(plane.Report(t.Context(), true)).To(Succeed())
	w.condition(infra, faultlinev1.ControlPlaneBalancedCondition, faultlinev1.ReasonBalanced)
	w.Expect(infra.Status.Distribution.ControlPlane.LastMove).To(HaveValue(And(
		HaveField("Machine", "cp-0"), HaveField("To", c), HaveField("Replacement", "cp-3"), HaveField("Phase", faultlinev1.MoveCompleted))))
}
