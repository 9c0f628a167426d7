// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package patch_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
)

const ours = "example.com/ours"

// fixture is a machine whose annotation, label and finalizer another writer removes.
type fixture struct {
	*WithT
	t       *testing.T
	client  client.Client
	repeats patch.Repeats
	sent    int
	// strips changes what the API server stores of a write, and undoes changes it afterwards like another writer. They may be
	// nil.
	strips, undoes func(*clusterv1.Machine)
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	q := &fixture{WithT: NewWithT(t), t: t}
	scheme := runtime.NewScheme()
	q.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	change := func(ctx context.Context, c client.Client, change func(*clusterv1.Machine), machine *clusterv1.Machine) error {
		if change == nil {
			return nil
		}
		before := machine.DeepCopy()
		change(machine)
		return c.Patch(ctx, machine, client.MergeFrom(before))
	}
	q.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(newMachine()).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			q.sent++
			machine := o.DeepCopyObject().(*clusterv1.Machine)
			if err := c.Patch(ctx, machine, p, opts...); err != nil {
				return err
			}
			if err := errors.Join(change(ctx, c, q.strips, machine), change(ctx, c, q.undoes, machine.DeepCopy())); err != nil {
				return err
			}
			answer, err := json.Marshal(machine)
			return errors.Join(err, json.Unmarshal(answer, o)) // as a real client does: fields not in the response keep their value
		},
	}).Build()
	return q
}

func strip(machine *clusterv1.Machine) {
	delete(machine.Annotations, ours)
	delete(machine.Labels, ours)
	machine.Finalizers = []string{"example.com/other"}
}

func want(machine *clusterv1.Machine) {
	machine.Annotations, machine.Labels = map[string]string{ours: "a"}, map[string]string{ours: "l"}
	machine.Finalizers = []string{"example.com/other", ours}
}

func (q *fixture) write(want func(*clusterv1.Machine)) error {
	before := stored(q.t, q.client)
	after := before.DeepCopy()
	want(after)
	return q.repeats.Write(q.t.Context(), q.client, before, after)
}

// writeFor writes every 10 ms, as if each event triggered a reconcile, and returns the number of requests.
func (q *fixture) writeFor(long time.Duration) int {
	before := q.sent
	for begun := time.Now(); time.Since(begun) < long; {
		if s := stored(q.t, q.client); s.Annotations[ours] == "" {
			_ = q.write(want)
		}
		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the clock is the bubble's
	}
	return q.sent - before
}

func TestStrippedWritesBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFixture(t)
		q.strips = strip
		err := q.write(want)
		problem := &patch.RemovedError{}
		q.Expect(errors.As(err, &problem)).To(BeTrue())
		q.Expect(problem.Paused).To(BeFalse())
		q.Expect(problem.Again()).To(Equal(patch.InitialDelay))
		q.Expect(err).To(MatchError(And(ContainSubstring("does not store the annotation example.com/ours, finalizer example.com/ours, label example.com/ours of Machine machine"),
			ContainSubstring("mutating admission policy"))))
		err = q.write(want)
		q.Expect(errors.As(err, &problem)).To(BeTrue())
		q.Expect(problem.Paused).To(BeTrue())
		q.Expect(problem.After).To(BeNumerically("<=", 20*time.Millisecond))
		q.Expect(q.writeFor(time.Minute)).To(BeNumerically("<=", 14))
		q.Expect(q.writeFor(time.Minute)).To(BeNumerically("<=", 3), "the longest pause is 30 s")
		q.Expect(q.repeats.Undone(q.client, newMachineOf(q))).To(HaveField("ByOthers", false))

		q.Expect(q.write(func(m *clusterv1.Machine) { m.Annotations = map[string]string{"example.com/else": "kept"} })).To(Succeed())
		q.Expect(q.repeats.Undone(q.client, newMachineOf(q))).NotTo(BeZero(), "something else was written")
		q.Expect(q.writeFor(time.Minute)).To(BeNumerically("<=", 3))

		q.strips = nil // the policy is deleted
		q.Expect(q.writeFor(time.Minute)).To(Equal(1))
		q.Expect(q.repeats.Undone(q.client, newMachineOf(q))).To(BeZero())
	})
}

func newMachineOf(q *fixture) *clusterv1.Machine { return stored(q.t, q.client) }

func TestRevertedWritesBackOff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFixture(t)
		q.undoes = strip
		q.Expect(q.writeFor(time.Minute)).To(BeNumerically("<=", 15))
		q.Expect(q.writeFor(10 * time.Minute)).To(BeNumerically("~", 24, 4))
		q.Expect(q.repeats.Undone(q.client, newMachineOf(q))).To(MatchError(ContainSubstring("another client removes or changes the annotation example.com/ours")))

		q.undoes = nil
		q.Expect(q.writeFor(time.Minute)).To(Equal(1))
		q.Expect(q.repeats.Undone(q.client, newMachineOf(q))).NotTo(BeZero(), "it would come and go with each write otherwise")
		time.Sleep(10 * time.Minute) //nolint:forbidigo // the clock is the bubble's
		q.Expect(q.repeats.Undone(q.client, newMachineOf(q))).To(BeZero())
	})
}

func TestRevertIsReportedOnce(t *testing.T) {
	t.Parallel()
	for name, by := range map[string]func(*fixture){
		"a policy":           func(q *fixture) { q.strips = strip },
		"another controller": func(q *fixture) { q.undoes = strip },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				q, told := newFixture(t), 0
				by(q)
				for begun := time.Now(); time.Since(begun) < time.Minute; {
					if _, news := patch.ReportableError(q.write(want)); news {
						told++
					}
					time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the clock is the bubble's
				}
				q.Expect(told).To(BeNumerically("~", q.sent, 3), "another controller is reported from the third time on")
				q.Expect(told).To(BeNumerically(">", 5))
			})
		})
	}
}

func TestStrippedOwnerReferences(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFixture(t)
		q.strips = func(machine *clusterv1.Machine) { machine.OwnerReferences = nil }
		own := func(machine *clusterv1.Machine) {
			machine.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: "1"}}
		}
		q.Expect(q.write(own)).To(MatchError(ContainSubstring("does not store the owner reference ConfigMap owner of Machine machine")))
		for range 10 {
			machine := stored(q.t, q.client)
			p := patch.From(machine)
			p.Repeats = &q.repeats
			own(machine)
			q.Expect(p.StoreSpec(t.Context(), q.client, machine)).To(HaveOccurred())
			q.Expect(machine.OwnerReferences).To(BeEmpty())
		}
		q.Expect(q.sent).To(Equal(1), "no pause is over")
	})
}

func TestToleratedReverts(t *testing.T) {
	t.Parallel()
	g, p, other := NewWithT(t), patch.Patch{}, errors.New("other")
	g.Expect(p.Tolerate(nil)).To(Succeed())
	g.Expect(p.Tolerate(other)).To(BeIdenticalTo(other))
	g.Expect(p.Tolerate(patch.ErrBehind)).To(MatchError(patch.ErrBehind), "it comes again at once")
	g.Expect(p).To(HaveField("Undone", BeNil()))
	g.Expect(p.Tolerate(fmt.Errorf("writing: %w", &patch.RemovedError{Kind: "Secret"}))).To(Succeed())
	g.Expect(p.Undone).To(HaveField("Kind", "Secret"))
}

// formerly writes a move under its former name, as an earlier release has.
func (q *fixture) formerly(value string) {
	q.Expect(q.write(func(m *clusterv1.Machine) {
		m.Annotations = map[string]string{faultlinev1.FormerName(faultlinev1.CurrentMoveAnnotation): value}
		m.Labels = map[string]string{faultlinev1.FormerName(faultlinev1.DistributionKeyLabel): value}
	})).To(Succeed())
	q.sent = 0
}

func TestAValueUnderAFormerNameOutlivesAPolicyThatRemovesItsName(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFixture(t)
		q.formerly("a")
		q.strips = func(m *clusterv1.Machine) {
			delete(m.Annotations, faultlinev1.CurrentMoveAnnotation)
			delete(m.Labels, faultlinev1.DistributionKeyLabel)
		}
		rename := func(m *clusterv1.Machine) { faultlinev1.Rename(m) }
		q.Expect(q.write(rename)).To(MatchError(ContainSubstring("does not store the annotation faultline.io/current-move, label faultline.io/distribution-key of Machine machine")))
		for range 6000 { // one minute
			_ = q.write(rename)
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the clock is the bubble's
		}
		q.Expect(faultlinev1.Value(newMachineOf(q).Annotations, faultlinev1.CurrentMoveAnnotation)).To(Equal("a"))
		q.Expect(faultlinev1.Value(newMachineOf(q).Labels, faultlinev1.DistributionKeyLabel)).To(Equal("a"))
		q.Expect(q.sent).To(BeNumerically("<=", 14))

		q.strips = nil          // the policy is deleted
		time.Sleep(time.Minute) //nolint:forbidigo // the clock is the bubble's
		q.Expect(q.write(rename)).To(Succeed())
		q.Expect(newMachineOf(q).Annotations).To(Equal(map[string]string{faultlinev1.CurrentMoveAnnotation: "a"}))
		q.Expect(newMachineOf(q).Labels).To(Equal(map[string]string{faultlinev1.DistributionKeyLabel: "a"}))
	})
}

func TestAFormerNameIsRemovedAfterItsValueIsStored(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		change func(*clusterv1.Machine)
		undoes func(*clusterv1.Machine)
		sent   int
		want   map[string]string
	}{
		"renamed":             {sent: 2, want: map[string]string{faultlinev1.CurrentMoveAnnotation: "a"}},
		"renamed and changed": {change: func(m *clusterv1.Machine) { m.Annotations[faultlinev1.CurrentMoveAnnotation] = "b" }, sent: 2, want: map[string]string{faultlinev1.CurrentMoveAnnotation: "b"}},
		"removed":             {change: func(m *clusterv1.Machine) { delete(m.Annotations, faultlinev1.CurrentMoveAnnotation) }, sent: 1},
		"another client writes in between": {
			undoes: func(m *clusterv1.Machine) { m.Annotations["example.com/other"] = "x" }, sent: 2, want: map[string]string{
				faultlinev1.CurrentMoveAnnotation: "a", faultlinev1.FormerName(faultlinev1.CurrentMoveAnnotation): "a", "example.com/other": "x",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			q := newFixture(t)
			q.formerly("a")
			q.undoes = test.undoes
			q.Expect(q.write(func(m *clusterv1.Machine) {
				faultlinev1.Rename(m)
				m.Labels = nil
				if test.change != nil {
					test.change(m)
				}
			})).To(Succeed())
			q.Expect(q.sent).To(Equal(test.sent))
			q.Expect(newMachineOf(q).Annotations).To(Equal(test.want))
			q.undoes = nil
			q.Expect(q.write(func(m *clusterv1.Machine) { faultlinev1.Rename(m) })).To(Succeed())
			q.Expect(newMachineOf(q).Annotations).NotTo(HaveKey(faultlinev1.FormerName(faultlinev1.CurrentMoveAnnotation)))
		})
	}
}

func TestOwnChangesAreNotReverts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFixture(t)
		for i := range 100 {
			q.Expect(q.write(func(m *clusterv1.Machine) { m.Annotations = map[string]string{ours: fmt.Sprint(i)} })).To(Succeed(), "it goes on")
		}
		for range 100 {
			q.Expect(q.write(strip)).To(Succeed())
			q.Expect(q.write(want)).To(Succeed(), "it has changed its mind")
		}
	})
}

func TestLostWriteIsNotReverted(t *testing.T) {
	t.Parallel()
	q := newFixture(t)
	old := stored(t, q.client)
	q.Expect(q.write(want)).To(Succeed())
	for range 10 {
		after := old.DeepCopy()
		want(after)
		err := q.repeats.Write(t.Context(), q.client, old, after)
		q.Expect(err).To(HaveOccurred())
		q.Expect(err).NotTo(BeAssignableToTypeOf(&patch.RemovedError{}))
	}
	q.Expect(q.repeats.Undone(q.client, old)).To(BeZero())
}

func TestStoreSpecDuringBackoff(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		q := newFixture(t)
		q.strips = strip
		for range 10 {
			machine := stored(t, q.client)
			p := patch.From(machine)
			p.Repeats = &q.repeats
			want(machine)
			removed := &patch.RemovedError{}
			q.Expect(errors.As(p.StoreSpec(t.Context(), q.client, machine), &removed)).To(BeTrue())
			q.Expect(removed.Again()).To(BeNumerically(">=", patch.InitialDelay))
			q.Expect(machine.Annotations).NotTo(HaveKey(ours))
			q.Expect(machine.Labels).NotTo(HaveKey(ours))
			q.Expect(machine.Finalizers).NotTo(ContainElement(ours))
		}
		q.Expect(q.sent).To(Equal(1), "no pause is over")
	})
}
