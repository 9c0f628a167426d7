// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package status

import (
	"strings"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// object is an object of a kind that also has v1beta1 conditions.
type object struct {
	unstructured.Unstructured

	conditions []metav1.Condition
	older      clusterv1.Conditions //nolint:staticcheck // it is what v1beta1 has
}

func (o *object) GetConditions() []metav1.Condition               { return o.conditions }
func (o *object) SetConditions(conditions []metav1.Condition)     { o.conditions = conditions }
func (o *object) SetV1Beta1Conditions(older clusterv1.Conditions) { o.older = older } //nolint:staticcheck // it is what v1beta1 has

func TestV1Beta1Conditions(t *testing.T) {
	shown := V1Beta1{
		Conditions: []V1Beta1Condition{
			{Type: "VMProvisioned", From: "VirtualMachineProvisioned", Severity: clusterv1.ConditionSeverityWarning,
				Reasons: map[string]string{"WaitingForClone": "Cloning"}, Progress: []string{"PoweringOn"}},
			{Type: "ServerAvailable", From: "VCenterAvailable", Severity: clusterv1.ConditionSeverityError},
		},
		Gone: []string{"ClusterModulesReady"},
	}
	when := metav1.Unix(1, 0)
	is := func(conditionType string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
		return metav1.Condition{Type: conditionType, Status: status, Reason: reason, Message: message, LastTransitionTime: when}
	}
	for _, tc := range []struct {
		name  string
		today []metav1.Condition
		want  []string
	}{
		{name: "nothing is known"},
		{name: "all is well",
			today: []metav1.Condition{is("Ready", "True", "Ready", ""), is("VCenterAvailable", "True", "Available", "8.0"), is("VirtualMachineProvisioned", "True", "Provisioned", "")},
			want:  []string{"Ready=True", "ServerAvailable=True", "VMProvisioned=True"}},
		{name: "a wait is information, and has v1beta1's reason",
			today: []metav1.Condition{is("Ready", "False", "NotReady", "* VirtualMachineProvisioned: ..."), is("VirtualMachineProvisioned", "False", "WaitingForClone", "of ubuntu")},
			want:  []string{"Ready=False Info Cloning: of ubuntu", "VMProvisioned=False Info Cloning: of ubuntu"}},
		{name: "progress is information",
			today: []metav1.Condition{is("VirtualMachineProvisioned", "False", "PoweringOn", "")},
			want:  []string{"VMProvisioned=False Info PoweringOn: "}},
		{name: "Ready reports the worst",
			today: []metav1.Condition{is("Ready", "False", "NotReady", "..."), is("VirtualMachineProvisioned", "False", "TaskFailed", "no space"), is("VCenterAvailable", "False", "VCenterUnreachable", "refused")},
			want: []string{"Ready=False Error VCenterUnreachable: refused", "ServerAvailable=False Error VCenterUnreachable: refused",
				"VMProvisioned=False Warning TaskFailed: no space"}},
		{name: "what is unknown has no severity",
			today: []metav1.Condition{is("Ready", "Unknown", "ReadyUnknown", "VCenterAvailable: not yet reported")},
			want:  []string{"Ready=Unknown  ReadyUnknown: VCenterAvailable: not yet reported"}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			g := NewWithT(t)
			o := &object{conditions: append(tc.today, is("ClusterModulesReady", "True", "Ready", "")), older: clusterv1.Conditions{{Type: "ClusterModulesAvailable"}}} //nolint:staticcheck // it is what v1beta1 has
			shown.Show(o)
			var got []string
			for _, condition := range o.older {
				g.Expect(condition.LastTransitionTime).To(Equal(when))
				text := string(condition.Type) + "=" + string(condition.Status)
				if condition.Reason != "" {
					text += " " + string(condition.Severity) + " " + condition.Reason + ": " + condition.Message
				}
				got = append(got, text)
			}
			g.Expect(got).To(Equal(tc.want))
			g.Expect(o.conditions).To(HaveLen(len(tc.today)), "conditions that are not set here are removed")
			before := o.older
			shown.Show(o)
			g.Expect(o.older).To(Equal(before), "setting the same again changes nothing")
		})
	}
}

func TestV1Beta1MessageLength(t *testing.T) {
	g := NewWithT(t)
	o := &object{conditions: []metav1.Condition{{Type: "A", Status: metav1.ConditionFalse, Reason: "R", Message: strings.Repeat("ä", 20000)}}}
	V1Beta1{Conditions: []V1Beta1Condition{{Type: "A", From: "A"}}}.Show(o)
	g.Expect(len(o.older[0].Message)).To(BeNumerically("<=", 10240))
	V1Beta1{}.Show(o)
	g.Expect(o.older).To(HaveLen(1), "a kind without v1beta1 is left alone")
}
