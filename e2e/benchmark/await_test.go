// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"errors"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestWaiting(t *testing.T) {
	g := NewWithT(t)
	w := NewWaiting([]string{"a", "b"}, func(m *infrav1.Metal3Machine) bool { return m.Status.Initialization.Provisioned != nil })
	machine := func(name string) *infrav1.Metal3Machine {
		m := &infrav1.Metal3Machine{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Status.Conditions = []metav1.Condition{{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Because", Message: "of this"}}
		return m
	}
	done := machine("a")
	done.Status.Initialization.Provisioned = new(true)
	w.note(machine("stranger"))
	w.note(done)
	w.note(done)
	w.note(machine("b"))
	g.Expect(w.Seen).To(HaveLen(1))
	g.Expect(w.Seen["a"]).To(BeTemporally("~", time.Now(), time.Minute))
	g.Expect(w.still(errors.New("late"))).To(MatchError(And(ContainSubstring("1 are not ready, the first is b"), ContainSubstring("Ready Because: of this"))))
}
