// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package spread_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/integration"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/spread"
	"github.com/faultline-io/faultline/shared/watch"
)

// stripping is a client of an API server with a mutating policy that removes marks from writes.
type stripping struct {
	client.Client
	strips atomic.Bool
	sent   atomic.Int32
}

func (s *stripping) Patch(ctx context.Context, o client.Object, p client.Patch, opts ...client.PatchOption) error {
	machine, is := o.(*clusterv1.Machine)
	if err := s.Client.Patch(ctx, o, p, opts...); err != nil || !is || !s.strips.Load() {
		return err
	}
	s.sent.Add(1)
	before := machine.DeepCopy()
	delete(machine.Annotations, faultlinev1.MarkedForMoveAnnotation)
	return s.Client.Patch(ctx, machine, client.MergeFrom(before))
}

// failingClient is the reader of a manager that has stopped.
type failingClient struct{ client.Reader }

func (failingClient) Get(context.Context, client.ObjectKey, client.Object, ...client.GetOption) error {
	return errors.New("the manager is dead")
}

// start runs a manager with only this controller until the test ends, and returns its client.
func (w *fixture) start() *counting {
	w.t.Helper()
	writes := &counting{}
	options := ctrl.Options{Scheme: scheme, Cache: manager.CacheOptions(w.name, w.name)}
	integration.Start(w.t, apiServer, nil, options, func(ctx context.Context, mgr ctrl.Manager) error {
		writes.Client = mgr.GetClient()
		r := w.reconciler(writes)
		r.Clock = clock.RealClock{}
		return r.SetupWithManager(ctx, mgr, "", watch.Concurrency(2))
	})
	return writes
}

// removed makes a program remove the machines in a domain and lower the replicas accordingly.
func (w *fixture) removed(in string) {
	w.t.Helper()
	left := int32(0)
	for _, machine := range w.machines("md") {
		infra := &providertest.Machine{ObjectMeta: w.meta(machine.Name)}
		w.Expect(api.Get(w.t.Context(), client.ObjectKeyFromObject(infra), infra)).To(Succeed())
		if domain(infra) == in {
			w.remove(&machine)
			continue
		}
		left++
	}
	w.wantReplicas(left)
	w.replenish("md")
}

// scaleUp scales the MachineDeployment to six machines in a and b.
func (w *fixture) scaleUp(r *spread.Reconciler) {
	w.t.Helper()
	w.domains("a b c!Cordoned")
	w.scale("md", 5)
	w.reconcile(r)
	w.exist()
	w.domains("a b c")
	w.replenish("md")
}

func TestStrippedMarks(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 4)
	w.reconcile(w.reconciler(api))
	w.exist()
	api := &stripping{Client: api}
	api.strips.Store(true)
	r := w.reconciler(api)
	for range 50 {
		_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
	}
	w.Expect(int(api.sent.Load())).To(And(BeNumerically(">=", 3), BeNumerically("<=", 3*12)), "each pause is twice as long")
	w.Expect(w.balanced()).To(And(HaveField("Reason", faultlinev1.ReasonAnnotationsRemoved), HaveField("Status", metav1.ConditionFalse),
		HaveField("Message", ContainSubstring("does not store the annotation "+faultlinev1.MarkedForMoveAnnotation))))
	w.Eventually(w.recorder.Events).Should(Receive(ContainSubstring(faultlinev1.ReasonAnnotationsRemoved)))

	api.strips.Store(false)
	w.Eventually(func() string {
		_, _ = r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
		w.clock.SetTime(w.clock.Now().Add(time.Second))
		return w.balanced().Reason
	}).Should(Equal(faultlinev1.ReasonBalanced))
	w.Expect(w.marked("md")).To(HaveLen(3))
}

func TestMarkSurvivesRestart(t *testing.T) {
	t.Parallel()
	w, _ := settled(t, faultlinev1.WorkersDistribution{}, 4)
	before := w.machines("md")
	w.reconcile(w.reconciler(api))
	w.Expect(w.machines("md")).To(Equal(before))
}

func TestUndoneMovesBackOff(t *testing.T) {
	t.Parallel()
	w := newFixture(t, deleteOne())
	w.withNewDomain()
	w.Expect(w.moveAll(w.reconciler(api))).To(Equal(2))
	for _, wait := range []time.Duration{time.Hour, 2 * time.Hour} {
		w.removed("c")
		r := w.reconciler(api)
		w.reconcile(r)
		w.Expect(w.workers().CurrentMove).To(BeNil())
		w.Expect(w.balanced().Reason).To(Equal(faultlinev1.ReasonNotBalanced))
		w.Expect(w.balanced().Message).To(And(
			ContainSubstring("to c, and machines are missing there again, so another client removes them"),
			ContainSubstring(w.workers().LastMove.Finished.Add(wait).UTC().Format(time.RFC3339)),
		))
		result, err := r.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(result.RequeueAfter).To(BeNumerically("~", wait, time.Minute))
		w.clock.SetTime(w.clock.Now().Add(result.RequeueAfter + time.Second))
		w.Expect(w.moveAll(w.reconciler(api))).To(Equal(1), "then it is tried again")
		w.scaleUp(r)
	}
}

func TestUndoneMovesAllowEviction(t *testing.T) {
	t.Parallel()
	w := newFixture(t, deleteOne())
	r := w.withNewDomain()
	w.moveAll(r)
	w.removed("c")
	w.domains("a!Evicting b c")
	w.moveAll(r)
	w.Expect(w.placed("md", domain)).NotTo(HaveKey("a"))
}

func TestFiftyMachines(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.deployment("other")
	writes := w.start()
	w.scale("md", 50)
	w.scale("other", 10)
	w.Eventually(func() map[string]int { return w.placed("md", domain) }).Should(Equal(map[string]int{"a": 17, "b": 17, "c": 16}))
	w.Eventually(func() map[string]int { return w.placed("other", domain) }).Should(Equal(map[string]int{"a": 4, "b": 3, "c": 3}))
	w.Expect(writes.patches.Load()).To(BeEquivalentTo(60))
	w.Eventually(func() string { return w.balanced().Reason }).Should(Equal(faultlinev1.ReasonBalanced))
	w.exist()
	w.scale("md", 52)
	w.Eventually(func() map[string]int { return w.placed("md", domain) }).Should(Equal(map[string]int{"a": 18, "b": 17, "c": 17}))
}

func TestRestartDuringAssignment(t *testing.T) {
	t.Parallel()
	w := newFixture(t, faultlinev1.WorkersDistribution{})
	w.scale("md", 30)
	killed := &counting{Client: api, enough: 13}
	_, err := w.reconciler(killed).Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
	w.Expect(err).To(MatchError(ContainSubstring("the manager was killed")))
	w.Expect(w.placed("md", domain)).To(HaveKeyWithValue("", 17))
	next := &counting{Client: api}
	w.reconcile(w.reconciler(next))
	w.Expect(w.placed("md", domain)).To(Equal(map[string]int{"a": 10, "b": 10, "c": 10}))
	w.Expect(next.patches.Load()).To(BeEquivalentTo(17), "what was assigned is not assigned again")
}

// A manager that stops between the two writes leaves a record, and the machine unchanged.
func TestRestartDuringMove(t *testing.T) {
	t.Parallel()
	for name, available := range map[string]int32{"carried out": 6, "taken back": 5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, deleteOne())
			w.withNewDomain()
			dying := w.reconciler(api)
			dying.Live = failingClient{api}
			_, err := dying.Reconcile(t.Context(), ctrl.Request{NamespacedName: client.ObjectKeyFromObject(w.infra)})
			w.Expect(err).To(MatchError("the manager is dead"))
			move := w.workers().CurrentMove
			w.Expect(move.Phase).To(Equal(faultlinev1.MoveStarted))
			w.Expect(w.machines("md")).To(HaveLen(6), "it is recorded first")
			w.Expect(w.balanced().Reason).To(Equal(faultlinev1.ReasonMoving))
			change(w, &clusterv1.MachineDeployment{ObjectMeta: w.meta("md")}, true, func(md *clusterv1.MachineDeployment) {
				md.Status.AvailableReplicas = ptr.To(available)
			})
			w.reconcile(w.reconciler(api))
			if available == 6 {
				w.Expect(w.machines("md")).To(HaveLen(5))
				return
			}
			w.Expect(w.machines("md")).To(HaveLen(6))
			w.Expect(w.workers().CurrentMove).To(BeNil())
			w.Expect(w.workers().LastMove.Phase).To(Equal(faultlinev1.MoveAborted))
			w.Expect(w.workers().LastMove.Message).To(ContainSubstring("5 of 6 replicas"))
		})
	}
}
