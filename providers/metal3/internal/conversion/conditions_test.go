// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package conversion

import (
	"testing"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/faultline-io/faultline/providers/metal3/api/v1beta1"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

// TestV1Beta1Conditions protects clients that wait for v1beta1 conditions.
func TestV1Beta1Conditions(t *testing.T) {
	g := NewWithT(t)
	machine := &infrav1.Metal3Machine{Status: infrav1.Metal3MachineStatus{
		Conditions: []metav1.Condition{
			{Type: clusterv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: clusterv1.NotReadyReason},
			{Type: infrav1.Metal3MachineAssociateBareMetalHostCondition, Status: metav1.ConditionFalse, Reason: infrav1.Metal3MachineWaitingForBootstrapDataReason},
			{Type: infrav1.Metal3MachineDataReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.Metal3MachineDataSecretsReadyReason},
		},
		Deprecated: &infrav1.DeprecatedStatus{V1Beta1: &infrav1.V1Beta1DeprecatedStatus{
			Conditions: clusterv1.Conditions{{Type: "Metal3DataReady", Status: corev1.ConditionUnknown}}, //nolint:staticcheck // upstream has left it
		}},
	}}
	MachineConditions().Show(machine)
	older := &v1beta1.Metal3Machine{}
	machineFromHub(machine, older)
	g.Expect(older.Status.Conditions).To(ConsistOf(
		And(HaveField("Type", BeEquivalentTo("Ready")), HaveField("Status", corev1.ConditionFalse), HaveField("Reason", "WaitingForBootstrapReady")),
		And(HaveField("Type", BeEquivalentTo("AssociateBMH")), HaveField("Reason", "WaitingForBootstrapReady"), HaveField("Severity", clusterv1.ConditionSeverityInfo)),
		And(HaveField("Type", BeEquivalentTo("Metal3DataReady")), HaveField("Status", corev1.ConditionTrue)),
	))

	cluster := &infrav1.Metal3Cluster{Status: infrav1.Metal3ClusterStatus{Conditions: []metav1.Condition{
		{Type: infrav1.Metal3ClusterBaremetalInfrastructureReadyCondition, Status: metav1.ConditionTrue, Reason: infrav1.Metal3ClusterBaremetalInfrastructureReadyReason},
	}}}
	ClusterConditions().Show(cluster)
	g.Expect(cluster.Status.Deprecated.V1Beta1.Conditions).To(HaveLen(1))
}
