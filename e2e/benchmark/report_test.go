// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package benchmark

import (
	"errors"
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
)

func TestWaiting(t *testing.T) {
	g := NewWithT(t)
	w := newWaiting([]string{"a", "b"}, func(m *infrav1.Metal3Machine) bool { return m.Status.Initialization.Provisioned != nil })
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
	g.Expect(w.missing).To(HaveLen(1))
	g.Expect(w.explain(errors.New("late"))).To(MatchError(And(
		ContainSubstring("1 are not ready, the first is b"), ContainSubstring("Ready Because: of this"))))
}

func TestSlowNeighborEffectExceedsRunVariation(t *testing.T) {
	for name, tc := range map[string]struct {
		alone, nextToSlow []float64
		verdict           string
	}{
		"none":                 {[]float64{2, 2, 9}, []float64{2.1, 2.6, 2.7}, ""},
		"all that is allowed":  {[]float64{10}, []float64{10*noEffect + noise}, ""},
		"more than is allowed": {[]float64{10}, []float64{10*noEffect + noise + 0.01}, Missed},
		"some":                 {[]float64{2, 2, 9}, []float64{2.1, 2.8, 2.9}, Missed},
		"not measured alone":   {nil, []float64{9}, ""},
	} {
		NewWithT(t).Expect(effectOf(tc.alone, tc.nextToSlow).Verdict).To(Equal(tc.verdict), name)
	}
}

func TestMedian(t *testing.T) {
	g := NewWithT(t)
	g.Expect(median(nil)).To(BeZero())
	g.Expect(median([]float64{9, 1, 2})).To(Equal(2.0))
}

func TestReport(t *testing.T) {
	r := report{rows: []Row{{Ours: "Faultline", Upstream: "Theirs", Aim: "aim"}}, notes: "Counted is what is counted.\n"}
	r.Section("Idle, a section whose heading is longer than its column")
	r.Add(Figure("calls", "%.1f", 2).WithUpstream("16").AtMost(1), Figure("seconds", "%.2f", 0.5).WithUpstream("").Below(1))
	r.Detail("machines", 2, Cost{Calls: Counts{"Login": 1}})
	NewWithT(t).Expect(r.text()).To(Equal(`             Faultline  Theirs   aim
Idle, a section whose heading is longer than its column
  calls            2.0      16  <= 1  MISSED
  seconds         0.50       -   < 1

Counted is what is counted.

machines, each of 2
  calls to the infrastructure
        0.50  Login
`))
}
