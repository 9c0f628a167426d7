// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package rebalance_test

import (
	"testing"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// former puts an annotation under its former name.
func former(annotations map[string]string, name string) {
	annotations[faultlinev1.FormerName(name)] = annotations[name]
	delete(annotations, name)
}

// formerMove returns a fixture with a move of m0 that a manager with the former names started.
func formerMove(t *testing.T) *fixture {
	t.Helper()
	w := newFixture(t, "aab", "abc")
	w.reconcile()
	infra, machine := w.infra(), w.machineNow("m0")
	former(infra.Annotations, faultlinev1.CurrentMoveAnnotation)
	former(machine.Annotations, faultlinev1.MarkedForMoveAnnotation)
	w.Expect(w.client.Update(t.Context(), infra)).To(Succeed())
	w.Expect(w.client.Update(t.Context(), machine)).To(Succeed())
	return w
}

func TestMoveUnderFormerNamesContinues(t *testing.T) {
	t.Parallel()
	w := formerMove(t)
	w.notice("m0")
	w.machine("m9", "c")
	w.reconcile()
	w.Expect(w.known().CurrentMove).To(HaveValue(And(HaveField("Machine", "m0"), HaveField("Replacement", "m9"))))
	w.delete("m0")
	w.isDeleted("m0")
	w.settle(true)
	w.reconcile()
	w.condition(metav1.ConditionTrue, faultlinev1.ReasonBalanced)
	w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Machine", "m0"), HaveField("Phase", faultlinev1.MoveCompleted), HaveField("Replacement", "m9"))))
	w.Expect(w.infra().Annotations).NotTo(Or(HaveKey(faultlinev1.CurrentMoveAnnotation), HaveKey(faultlinev1.FormerName(faultlinev1.CurrentMoveAnnotation))))
	w.Expect(w.marked()).To(BeEmpty())
}

func TestMoveUnderFormerNamesIsReverted(t *testing.T) {
	t.Parallel()
	w := formerMove(t)
	kcp := w.kcp()
	kcp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	w.Expect(w.client.Update(t.Context(), kcp)).To(Succeed())
	w.reconcile()
	w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveAborted), HaveField("Reason", faultlinev1.ReasonControlPlanePaused))))
	w.Expect(w.marked()).To(BeEmpty())
	w.Expect(w.machineNow("m0").Annotations).To(BeEmpty())
	w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.FormerName(faultlinev1.CurrentMoveAnnotation)))
}
