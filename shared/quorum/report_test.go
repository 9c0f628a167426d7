// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package quorum

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

func TestProtectionCondition(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change  func(*Snapshot)
		status  metav1.ConditionStatus // "" for no condition
		reason  string
		message string
	}{
		"every machine protected":           {func(*Snapshot) {}, metav1.ConditionTrue, faultlinev1.ReasonQuorumProtected, ""},
		"a machine that is to get the hook": {func(s *Snapshot) { s.Machines[1].Hooked = false }, metav1.ConditionTrue, faultlinev1.ReasonQuorumProtected, ""},
		"a control plane with a hook":       {func(s *Snapshot) { s.ControlPlane.ProtectsQuorum = true }, metav1.ConditionTrue, faultlinev1.ReasonProtectedByControlPlane, "sets its own hook"},
		"no control plane":                  {func(s *Snapshot) { s.ControlPlane = ControlPlane{} }, metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "set spec.controlPlaneRef"},
		"a kind that may not be read":       {func(s *Snapshot) { s.Problem = "it cannot be read" }, metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "it cannot be read"},
		"a hook of another controller":      {func(s *Snapshot) { s.Machines[1].OthersHook = "theirs" }, metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "Machine m1 is not protected, because it has the hook theirs"},
		"a machine of another owner":        {func(s *Snapshot) { s.Machines[2].Owner = "" }, metav1.ConditionFalse, faultlinev1.ReasonQuorumNotProtected, "Machine m2 is not protected, because it is not controlled by"},
		"one of another owner that goes": {func(s *Snapshot) {
			s.Machines[2].Owner = ""
			deleted(2)(s)
		}, metav1.ConditionTrue, faultlinev1.ReasonQuorumProtected, ""},
		"not asked for":                {func(s *Snapshot) { s.Wanted = false }, "", "", ""},
		"no machines":                  {func(s *Snapshot) { s.Machines = nil }, "", "", ""},
		"a Cluster that goes":          {func(s *Snapshot) { s.Cluster.Leaving = true }, "", "", ""},
		"a control plane that is gone": {func(s *Snapshot) { s.ControlPlane.Leaving = true }, "", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			s := plane(3, tc.change)
			is := protection(&s)
			if tc.status == "" {
				g.Expect(is).To(BeNil())
				return
			}
			g.Expect(is).To(HaveValue(And(HaveField("Status", tc.status), HaveField("Reason", tc.reason), HaveField("Message", ContainSubstring(tc.message)))))
		})
	}
}
