// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package rebalance_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
)

// stripping returns a client of an API server with a mutating policy that removes an annotation from writes.
func (w *fixture) stripping(annotation, instead string) client.Client {
	return interceptor.NewClient(w.client, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := c.Patch(ctx, o, p, opts...); err != nil {
				return err
			}
			before, annotations := o.DeepCopyObject().(client.Object), o.GetAnnotations()
			if _, has := annotations[annotation]; !has {
				return nil
			}
			if delete(annotations, annotation); instead != "" {
				annotations[annotation] = instead
			}
			o.SetAnnotations(annotations)
			return c.Patch(ctx, o, client.MergeFrom(before), opts...)
		},
	})
}

func TestCrashDuringAbort(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 6; n++ {
		w := newFixture(t, "aab", "abc")
		w.reconcile()
		kcp := w.kcp()
		kcp.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		w.Expect(w.client.Update(t.Context(), kcp)).To(Succeed())
		_, err := w.reconciler(w.crashing(n)).Reconcile(t.Context(), w.request())
		w.Expect(err).To(MatchError(errCrashed), "write %d", n)
		w.reconcile()
		w.Expect(w.marked()).To(BeEmpty(), "write %d", n)
		w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation), "write %d", n)
		w.Expect(w.known().LastMove).To(HaveValue(And(HaveField("Phase", faultlinev1.MoveAborted), HaveField("Reason", faultlinev1.ReasonControlPlanePaused))), "write %d", n)
		w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonControlPlanePaused)).To(ContainSubstring("To be moved: Machine m0 from a to c"))
	}
}

func TestCrashDuringMove(t *testing.T) {
	t.Parallel()
	for n := 1; n <= 5; n++ {
		w := newFixture(t, "aab", "abc")
		_, err := w.reconciler(w.crashing(n)).Reconcile(t.Context(), w.request())
		w.Expect(err).To(MatchError(errCrashed), "write %d", n)
		w.reconcile()
		w.Expect(w.marked()).To(Equal([]string{"m0"}), "write %d", n)
		w.Expect(w.clonedFrom("m0")).To(Equal(outdated), "write %d", n)
		w.Expect(w.infra().Annotations).To(HaveKey(faultlinev1.CurrentMoveAnnotation), "write %d", n)
	}
}

func TestStrippedMoveAnnotations(t *testing.T) {
	t.Parallel()
	for annotation, instead := range map[string]string{
		faultlinev1.CurrentMoveAnnotation: "", faultlinev1.MarkedForMoveAnnotation: "", clusterv1.DeleteMachineAnnotation: "",
		clusterv1.TemplateClonedFromNameAnnotation: "template",
	} {
		t.Run(annotation, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, "aab", "abc")
			w.clock.SetTime(w.clock.Now().Add(time.Minute)) // No condition of the control plane changes after the move, however slow the test.
			r := w.reconciler(w.stripping(annotation, instead))
			r.Client = w.stripping(annotation, instead)
			result, err := r.Reconcile(t.Context(), w.request())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(result.RequeueAfter).To(BeNumerically("~", time.Hour, time.Minute))
			w.Expect(w.marked()).To(BeEmpty())
			w.Expect(w.infra().Annotations).NotTo(HaveKey(faultlinev1.CurrentMoveAnnotation))
			w.Expect(w.condition(metav1.ConditionFalse, faultlinev1.ReasonAnnotationsRemoved)).To(ContainSubstring("does not store the annotation " + annotation))
			writes := 0
			_, err = w.reconciler(interceptor.NewClient(w.client, interceptor.Funcs{
				Patch: func(ctx context.Context, _ client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
					writes++
					return w.stripping(annotation, instead).Patch(ctx, o, p, opts...)
				},
			})).Reconcile(t.Context(), w.request())
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(writes).To(BeNumerically("<=", 1), "it is not tried again and again")
		})
	}
}

func TestAnRKE2ControlPlaneThatDisobeys(t *testing.T) {
	t.Parallel()
	for name, disobey := range map[string]func(*rke2){
		"deletes another machine":             func(p *rke2) { p.deletes = "m2" },
		"deletes the replacement":             func(p *rke2) { p.deletes = "n1" },
		"creates a machine somewhere else":    func(p *rke2) { p.misplaces = "a" },
		"both":                                func(p *rke2) { p.misplaces, p.deletes = "b", "m1" },
		"creates a machine in a full one too": func(p *rke2) { p.misplaces, p.deletes = "a", "m2" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newRKE2(t, "v1beta2", "aab", "abc")
			disobey(p)
			p.settles(3)
			p.Expect(p.layout()).To(Equal("abc"))
			p.Expect(p.created).To(BeNumerically("<=", 4))
		})
	}
}
