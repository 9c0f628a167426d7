// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

// Clients of v1beta1, or of status.deprecated, see current conditions and none that upstream's manager has left.
func TestConditionsOfV1Beta1(t *testing.T) {
	t.Parallel()
	f := newFixture(t, simulator.Racks(1, 1))
	cluster := f.cluster("one", "rack-1")
	machine := f.machine("one", "cp-0", "rack-1")
	f.waitForProvisioned(machine)
	f.Eventually(func(g Gomega) {
		g.Expect(olderConditions(f.get(cluster).(*infrav1.Metal3Cluster).Status.Deprecated)).To(Equal(
			[]string{"Ready=True", "BaremetalInfrastructureReady=True"}))
		g.Expect(olderConditions(f.get(machine).(*infrav1.Metal3Machine).Status.Deprecated)).To(ContainElements(
			"Ready=True", "AssociateBMH=True", "KubernetesNodeReady=True"))
	}).Should(Succeed())

	f.stop()
	f.get(machine)
	before := machine.DeepCopy()
	left := machine.Status.Deprecated.V1Beta1
	left.FailureReason, left.FailureMessage = ptr.To("CreateError"), ptr.To("no host")
	left.Conditions = append(left.Conditions, clusterv1.Condition{ //nolint:staticcheck // it is what upstream has left
		Type: "Metal3MachinePaused", Status: "False", LastTransitionTime: metav1.Now(),
	})
	f.Expect(f.client.Status().Patch(t.Context(), machine, client.MergeFrom(before))).To(Succeed())
	f.start()
	f.Eventually(func(g Gomega) {
		got := f.get(machine).(*infrav1.Metal3Machine).Status.Deprecated
		g.Expect(olderConditions(got)).NotTo(ContainElement(HavePrefix("Metal3MachinePaused")))
		g.Expect(got.V1Beta1.FailureReason).To(BeNil())
		g.Expect(got.V1Beta1.FailureMessage).To(BeNil())
	}).Should(Succeed())
}

func olderConditions(status *infrav1.DeprecatedStatus) []string {
	if status == nil {
		return nil
	}
	var found []string
	for _, condition := range status.V1Beta1.Conditions {
		found = append(found, string(condition.Type)+"="+string(condition.Status))
	}
	return found
}
