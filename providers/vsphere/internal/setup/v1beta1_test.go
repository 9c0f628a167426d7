// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

// A client that reads v1beta1, or status.deprecated, must see the current state, and nothing that upstream's manager has left
// behind.
func TestV1Beta1Conditions(t *testing.T) {
	t.Parallel()
	w := newFixture(t, simulator.ThreeZones())
	zones := w.threeZones()
	cluster := w.cluster("c")
	machine := w.machine("c", "node", zones[0].Name)
	w.waitForProvisioned(machine)
	w.Eventually(func(g Gomega) {
		g.Expect(shown(w.get(machine).(*infrav1.VSphereMachine).Status.Deprecated)).To(Equal([]string{"Ready=True", "VMProvisioned=True"}))
		g.Expect(shown(w.vsphereVM("node").Status.Deprecated)).To(Equal([]string{"Ready=True", "VCenterAvailable=True", "VMProvisioned=True"}))
		zone := w.get(zones[0]).(*infrav1.VSphereDeploymentZone)
		g.Expect(names(zone.Status.Deprecated)).To(Equal([]string{
			"Ready=True", "PlacementConstraintMet=True", "VCenterAvailable=True", "VSphereFailureDomainValidated=True",
		}))
		g.Expect(names(w.get(cluster).(*infrav1.VSphereCluster).Status.Deprecated)).To(ContainElement("FailureDomainsAvailable=True"))
	}).Should(Succeed())

	w.stop()
	w.get(cluster)
	w.get(machine)
	before := cluster.DeepCopy()
	conditions.Set(cluster, metav1.Condition{Type: "ClusterModulesReady", Status: metav1.ConditionTrue, Reason: "Ready"})
	cluster.Status.Deprecated.V1Beta1.Conditions = append(cluster.Status.Deprecated.V1Beta1.Conditions,
		clusterv1.Condition{Type: "ClusterModulesAvailable", Status: "True", LastTransitionTime: metav1.Now()}) //nolint:staticcheck // it is what upstream has left
	w.Expect(w.client.Status().Patch(t.Context(), cluster, client.MergeFrom(before))).To(Succeed())
	failed := machine.DeepCopy()
	machine.Status.Deprecated.V1Beta1.FailureReason = ptr.To("CreateError")
	w.Expect(w.client.Status().Patch(t.Context(), machine, client.MergeFrom(failed))).To(Succeed())
	w.start()
	w.Eventually(func(g Gomega) {
		got := w.get(cluster).(*infrav1.VSphereCluster)
		g.Expect(conditions.Has(got, "ClusterModulesReady")).To(BeFalse())
		g.Expect(names(got.Status.Deprecated)).NotTo(ContainElement(HavePrefix("ClusterModulesAvailable")))
		g.Expect(w.get(machine).(*infrav1.VSphereMachine).Status.Deprecated.V1Beta1.FailureReason).To(BeNil())
	}).Should(Succeed())
}

func names(status *infrav1.DeprecatedStatus) []string {
	if status == nil {
		return nil
	}
	return texts(status.V1Beta1.Conditions)
}

func shown(status *infrav1.MachineDeprecatedStatus) []string {
	if status == nil {
		return nil
	}
	return texts(status.V1Beta1.Conditions)
}

func texts(conditions clusterv1.Conditions) []string { //nolint:staticcheck // it is what v1beta1 shows
	var found []string
	for _, condition := range conditions {
		found = append(found, string(condition.Type)+"="+string(condition.Status))
	}
	return found
}
