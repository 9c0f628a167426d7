// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider/providertest"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

const finalizer = "test/finalizer"

type scope struct {
	cluster *providertest.Cluster
	owner   *clusterv1.Cluster
}

func (s *scope) Owner() *clusterv1.Cluster { return s.owner }

// fixture is a loop for clusters that records its calls.
type fixture struct {
	*WithT
	t       *testing.T
	client  client.Client
	written patch.Expectations
	owner   *clusterv1.Cluster
	filter  watch.Filter
	idle    bool  // the scope is zero
	fails   error // returned by the work
	get     error // returned by reads
	patched int
	called  []string
	change  func(*reconcile.Loop[*providertest.Cluster, *scope])
}

func newFixture(t *testing.T, cluster *providertest.Cluster) *fixture {
	t.Helper()
	w := &fixture{WithT: NewWithT(t), t: t}
	scheme := runtime.NewScheme()
	w.Expect(providertest.AddToScheme(scheme)).To(Succeed())
	w.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	w.client = fake.NewClientBuilder().WithScheme(scheme).WithObjects(cluster).WithStatusSubresource(cluster).
		WithInterceptorFuncs(interceptor.Funcs{
			Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
				return errors.Join(w.get, c.Get(ctx, key, obj, opts...))
			},
			Patch: func(ctx context.Context, c client.WithWatch, obj client.Object, p client.Patch, opts ...client.PatchOption) error {
				w.patched++
				return c.Patch(ctx, obj, p, opts...)
			},
			SubResourcePatch: func(ctx context.Context, c client.Client, sub string, obj client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
				w.patched++
				return c.SubResource(sub).Patch(ctx, obj, p, opts...)
			},
		}).Build()
	return w
}

func cluster() *providertest.Cluster {
	return &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", UID: "1"}}
}

func deleted() *providertest.Cluster {
	c := cluster()
	c.Finalizers, c.DeletionTimestamp = []string{finalizer}, ptr.To(metav1.Now())
	return c
}

func (w *fixture) note(name string) { w.called = append(w.called, name) }

func (w *fixture) run() (ctrl.Result, error) {
	w.t.Helper()
	work := func(name string) func(context.Context, *scope) (ctrl.Result, error) {
		return func(_ context.Context, s *scope) (ctrl.Result, error) {
			w.note(name)
			s.cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: name}}
			return ctrl.Result{RequeueAfter: time.Hour}, w.fails
		}
	}
	remove := work("delete")
	loop := reconcile.Loop[*providertest.Cluster, *scope]{
		Client: w.client, Filter: w.filter, Expectations: &w.written, Finalizer: finalizer,
		NewScope: func(_ context.Context, c *providertest.Cluster, _ *patch.Patch) (*scope, error) {
			if w.idle {
				return nil, nil
			}
			return &scope{cluster: c, owner: w.owner}, nil
		},
		ReconcileNormal: work("normal"),
		ReconcileDelete: func(ctx context.Context, s *scope) (ctrl.Result, error) {
			s.cluster.Finalizers = nil
			return remove(ctx, s)
		},
		Summarize: func(_ context.Context, s *scope) error {
			w.note("summarize")
			status.True(s.cluster, clusterv1.ReadyCondition, clusterv1.ReadyReason)
			return nil
		},
		Stored: func(*scope) { w.note("stored") },
		Forget: func(client.ObjectKey) { w.note("forget") },
	}
	if w.change != nil {
		w.change(&loop)
	}
	return loop.Run(w.t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "c"}}, &providertest.Cluster{})
}

func (w *fixture) stored() *providertest.Cluster {
	w.t.Helper()
	c := cluster()
	w.get = nil
	w.Expect(w.client.Get(w.t.Context(), client.ObjectKeyFromObject(c), c)).To(Succeed())
	return c
}

func TestReconcileRequests(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	result, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(time.Hour))
	w.Expect(w.called).To(Equal([]string{"normal", "summarize", "stored"}))
	c := w.stored()
	w.Expect(c.Finalizers).To(ConsistOf(finalizer))
	w.Expect(c.Status.FailureDomains).To(HaveLen(1))
	w.Expect(conditions.IsTrue(c, clusterv1.ReadyCondition)).To(BeTrue())
	w.Expect(conditions.GetReason(c, clusterv1.PausedCondition)).To(Equal(clusterv1.NotPausedReason))
	w.Expect(w.patched).To(Equal(2))
	_, err = w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.patched).To(Equal(2), "nothing has changed")
}

func TestStatusIsStoredAfterError(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	w.fails = errors.New("broken")
	_, err := w.run()
	w.Expect(err).To(MatchError(ContainSubstring("broken")))
	w.Expect(w.called).To(Equal([]string{"normal", "summarize", "stored"}))
	w.Expect(w.stored().Status.FailureDomains).To(HaveLen(1))
}

func TestFinalizerRemoval(t *testing.T) {
	t.Parallel()
	w := newFixture(t, deleted())
	_, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.called).To(Equal([]string{"delete", "summarize", "stored"}))
	w.Expect(w.patched).To(Equal(1), "it has no status any more")
	_, err = w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.called).To(HaveExactElements("delete", "summarize", "stored", "forget"))
}

func TestPaused(t *testing.T) {
	t.Parallel()
	for name, pause := range map[string]func(*fixture, *providertest.Cluster){
		"by itself": func(_ *fixture, c *providertest.Cluster) {
			c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		},
		"by its Cluster": func(w *fixture, _ *providertest.Cluster) { w.owner.Spec.Paused = ptr.To(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := cluster()
			pause(&fixture{owner: &clusterv1.Cluster{}}, c)
			w := newFixture(t, c)
			w.owner = &clusterv1.Cluster{}
			pause(w, c)
			_, err := w.run()
			w.Expect(err).NotTo(HaveOccurred())
			w.Expect(w.called).To(BeEmpty())
			w.Expect(conditions.IsTrue(w.stored(), clusterv1.PausedCondition)).To(BeTrue())
			w.Expect(w.stored().Finalizers).To(BeEmpty())
		})
	}
}

func TestConflict(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lost := fmt.Errorf("writing: %w", apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "s", errors.New("it was changed")))
	result, err := reconcile.Outcome(ctrl.Result{RequeueAfter: time.Hour}, nil, lost)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(Equal(reconcile.Again()))
	failed := errors.New("no answer")
	_, err = reconcile.Outcome(ctrl.Result{}, lost, failed)
	g.Expect(err).To(MatchError(failed))
	g.Expect(err).NotTo(MatchError(ContainSubstring("it was changed")))
	result, err = reconcile.Outcome(ctrl.Result{RequeueAfter: time.Hour}, fmt.Errorf("writing: %w", patch.ErrBehind))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result).To(Equal(reconcile.Again()))
	result, err = reconcile.Outcome(ctrl.Result{RequeueAfter: time.Hour}, fmt.Errorf("writing: %w", &patch.RemovedError{Paused: true, After: time.Minute}))
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Minute), "nothing was sent")
	_, err = reconcile.Outcome(ctrl.Result{}, &patch.RemovedError{Kind: "Machine", Name: "m"})
	g.Expect(err).To(MatchError(ContainSubstring("Machine m")))
	result, err = reconcile.Outcome(ctrl.Result{RequeueAfter: time.Hour}, nil)
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(result.RequeueAfter).To(Equal(time.Hour))
}

func TestPausedFunc(t *testing.T) {
	t.Parallel()
	c := cluster()
	c.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
	w := newFixture(t, c)
	w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) {
		l.ReconcilePaused = func(context.Context, *scope) (ctrl.Result, error) {
			w.note("paused")
			return ctrl.Result{}, nil
		}
	}
	_, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.called).To(Equal([]string{"paused", "summarize", "stored"}))
	w.Expect(conditions.Has(w.stored(), clusterv1.PausedCondition)).To(BeFalse(), "that is the work's to say")
}

func TestPausedOnlyWhenTrue(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) { l.PausedOnlyWhenTrue = true }
	_, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	c := w.stored()
	w.Expect(conditions.Has(c, clusterv1.PausedCondition)).To(BeFalse())
	for _, reason := range []string{clusterv1.PausedReason, clusterv1.NotPausedReason} {
		w.owner = &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: ptr.To(reason == clusterv1.PausedReason)}}
		_, err := w.run()
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(conditions.GetReason(w.stored(), clusterv1.PausedCondition)).To(Equal(reason))
	}
}

func TestObjectOfAnotherManager(t *testing.T) {
	t.Parallel()
	left := func(loop *reconcile.Loop[*providertest.Cluster, *scope]) {
		loop.Delay = func(*scope) time.Duration { return time.Second }
	}
	w := newFixture(t, cluster())
	w.change = left
	result, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result).To(Equal(ctrl.Result{RequeueAfter: time.Second}))
	w.Expect(w.called).To(BeEmpty())
	w.Expect(w.patched).To(BeZero())

	w.owner = &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	_, err = w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(conditions.IsTrue(w.stored(), clusterv1.PausedCondition)).To(BeTrue(), "Paused is reported at once")

	w = newFixture(t, deleted())
	w.change = left
	_, err = w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.called).To(ContainElement("delete"))
}

func TestDelayedConditions(t *testing.T) {
	t.Parallel()
	const paused, deleting = "paused", "deleting"
	for name, tc := range map[string]struct {
		settle  time.Duration
		is      string
		domain  string
		fails   error
		patches int
		again   time.Duration
	}{
		"conditions alone":                      {settle: time.Minute, again: time.Minute},
		"when the work comes again before that": {settle: 2 * time.Hour, again: time.Hour},
		"after that time":                       {patches: 1, again: time.Hour},
		"something else has changed":            {settle: time.Minute, domain: "b", patches: 1, again: time.Hour},
		"the work has failed":                   {settle: time.Minute, fails: errors.New("broken"), patches: 1},
		"the object is paused":                  {settle: time.Minute, is: paused, patches: 1},
		"the object is being deleted":           {settle: time.Minute, is: deleting, patches: 1, again: time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, cluster())
			stage, domain, settle := "One", "a", time.Duration(0)
			work := func(_ context.Context, s *scope) (ctrl.Result, error) {
				status.False(s.cluster, "Stage", stage, "")
				s.cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: domain}}
				return ctrl.Result{RequeueAfter: time.Hour}, w.fails
			}
			w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) {
				l.ReconcileNormal, l.ReconcileDelete, l.Debounce = work, work, func(*scope) time.Duration { return settle }
			}
			_, err := w.run()
			w.Expect(err).NotTo(HaveOccurred())
			switch tc.is {
			case paused:
				w.owner = &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
			case deleting:
				w.Expect(w.client.Delete(t.Context(), cluster())).To(Succeed())
			}
			w.patched, stage, settle, w.fails = 0, "Two", tc.settle, tc.fails
			if tc.domain != "" {
				domain = tc.domain
			}
			result, err := w.run()
			w.Expect(err != nil).To(Equal(tc.fails != nil))
			w.Expect(w.patched).To(Equal(tc.patches))
			w.Expect(result.RequeueAfter).To(BeNumerically("~", tc.again, time.Minute/2))
			settle, w.fails = 0, nil
			_, err = w.run()
			w.Expect(err).NotTo(HaveOccurred())
			if tc.is == paused {
				stage = "One" // the object is ignored
			}
			w.Expect(conditions.GetReason(w.stored(), "Stage")).To(Equal(stage), "nothing is lost")
		})
	}
}

func TestNewObjectConditions(t *testing.T) {
	t.Parallel()
	c := cluster()
	c.CreationTimestamp = metav1.Now()
	w := newFixture(t, c)
	w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) {
		l.Finalizer, l.ReconcileNormal = "", func(context.Context, *scope) (ctrl.Result, error) { return ctrl.Result{}, nil }
		l.Debounce = func(*scope) time.Duration { return time.Hour }
	}
	result, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.patched).To(BeZero())
	w.Expect(result.RequeueAfter).To(BeNumerically("~", time.Hour, time.Minute))
}

func TestIgnoredObjects(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		change func(*fixture)
		called []string
		fails  bool
	}{
		"nothing to be done":         {change: func(w *fixture) { w.idle = true }},
		"another manager's":          {change: func(w *fixture) { w.filter = "mine" }, called: []string{"forget"}},
		"it cannot be read":          {change: func(w *fixture) { w.get = errors.New("no answer") }, fails: true},
		"the cache lags behind":      {change: func(w *fixture) { w.written.Observe(newer()) }},
		"a write of its former self": {change: func(w *fixture) { o := newer(); o.UID = "0"; w.written.Observe(o) }, called: []string{"normal", "summarize", "stored"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newFixture(t, cluster())
			tc.change(w)
			_, err := w.run()
			w.Expect(err != nil).To(Equal(tc.fails))
			w.Expect(w.called).To(HaveExactElements(tc.called))
		})
	}
}

func newer() *providertest.Cluster {
	c := cluster()
	c.ResourceVersion = "1000000"
	return c
}

func TestConflictRequeues(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	w.fails = apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "s", errors.New("it was changed"))
	result, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result).To(Equal(reconcile.Again()))
	w.Expect(w.stored().Status.FailureDomains).To(HaveLen(1))
}

func TestConflictAmongErrors(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	lost := apierrors.NewConflict(schema.GroupResource{Resource: "secrets"}, "s", errors.New("it was changed"))
	paused := &patch.RemovedError{Paused: true, After: time.Minute}
	for name, list := range map[string]func(...error) error{
		"errors.Join":              errors.Join,
		"kerrors.NewAggregate":     func(errs ...error) error { return kerrors.NewAggregate(errs) },
		"one of them in the other": func(errs ...error) error { return errors.Join(kerrors.NewAggregate(errs)) },
	} {
		result, err := reconcile.Outcome(ctrl.Result{}, list(lost, paused))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(result).To(Equal(reconcile.Again()), name)
		result, err = reconcile.Outcome(ctrl.Result{}, list(paused, paused))
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(result).To(Equal(ctrl.Result{RequeueAfter: time.Minute}), name)
		_, err = reconcile.Outcome(ctrl.Result{}, list(lost, paused, errors.New("disk full")))
		g.Expect(err).To(MatchError("disk full"), name)
	}
	_, err := reconcile.Outcome(ctrl.Result{}, fmt.Errorf("a: %w, b: %w", errors.New("c"), errors.New("d")))
	g.Expect(err).To(MatchError("a: c, b: d"))
}

func TestToleratedRevertRequeues(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) {
		gather := l.NewScope
		l.NewScope = func(ctx context.Context, c *providertest.Cluster, p *patch.Patch) (*scope, error) {
			s, err := gather(ctx, c, p)
			if err == nil {
				err = p.Tolerate(&patch.RemovedError{Kind: "Secret", Name: "s", Removed: []string{"finalizer f"}, ByOthers: true, Paused: true, After: time.Minute})
			}
			return s, err
		}
	}
	result, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(time.Minute))
	w.Expect(conditions.GetMessage(w.stored(), faultlinev1.MetadataKeptCondition)).To(ContainSubstring("finalizer f of Secret s"))
	w.Expect(w.stored().Status.FailureDomains).To(HaveLen(1), "the work was done")
}

func TestAbsent(t *testing.T) {
	t.Parallel()
	w := newFixture(t, &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}})
	w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) {
		l.NotFound = func(context.Context, client.ObjectKey) (ctrl.Result, error) {
			w.note("absent")
			return ctrl.Result{RequeueAfter: time.Second}, nil
		}
	}
	result, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(result.RequeueAfter).To(Equal(time.Second))
	w.Expect(w.called).To(Equal([]string{"forget", "absent"}))
}

func TestFindReturnsNothingForANameThatClientsRefuse(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	refusing := fake.NewClientBuilder().WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return errors.New("invalid resource name")
		},
	}).Build()
	for _, name := range []string{"50%", "..", "a/b"} {
		secret, err := reconcile.Find(t.Context(), refusing, client.ObjectKey{Namespace: "ns", Name: name}, &corev1.Secret{})
		g.Expect(err).NotTo(HaveOccurred(), name)
		g.Expect(secret).To(BeNil(), name)
	}
}

func TestOwners(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	owned := cluster()
	w.Expect(reconcile.ClusterOf(t.Context(), w.client, owned)).To(BeNil(), "nothing says which")
	w.Expect(reconcile.OwnerCluster(t.Context(), w.client, owned)).To(BeNil())
	w.Expect(reconcile.OwnerCluster(t.Context(), w.client, deleted())).NotTo(BeNil(), "its deletion needs none")
	owned.Labels = map[string]string{clusterv1.ClusterNameLabel: "one"}
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "one"}}
	w.Expect(reconcile.ClusterOf(t.Context(), w.client, owned)).To(BeNil(), "it does not exist")
	w.Expect(reconcile.OwnerCluster(t.Context(), w.client, owned)).To(BeNil())
	w.Expect(w.client.Create(t.Context(), &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "one"}})).To(Succeed())
	w.Expect(reconcile.ClusterOf(t.Context(), w.client, owned)).NotTo(BeNil())
	w.Expect(reconcile.OwnerCluster(t.Context(), w.client, owned)).NotTo(BeNil())
	owned.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "another"}
	w.Expect(reconcile.OwnerCluster(t.Context(), w.client, owned)).To(BeNil(), "another program reconciles it")
}

func TestOwnersOf(t *testing.T) {
	t.Parallel()
	w := newFixture(t, cluster())
	infra := &providertest.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "infra"}}
	look := func(want bool) reconcile.Owners[*providertest.Cluster] {
		t.Helper()
		of, leave, err := reconcile.OwnersOf(t.Context(), w.client, infra, &providertest.Cluster{})
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(leave).To(Equal(want))
		return of
	}
	look(true)
	infra.Labels = map[string]string{clusterv1.ClusterNameLabel: "one"}
	infra.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Machine", Name: "m"}}
	w.Expect(look(true)).To(BeZero(), "neither exists")
	meta := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Namespace: "ns", Name: name} }
	w.Expect(w.client.Create(t.Context(), &clusterv1.Machine{ObjectMeta: meta("m")})).To(Succeed())
	w.Expect(look(true).Machine).NotTo(BeNil())
	one := &clusterv1.Cluster{ObjectMeta: meta("one")}
	one.Spec.InfrastructureRef.Name = "gone"
	w.Expect(w.client.Create(t.Context(), one)).To(Succeed())
	w.Expect(look(false).InfraCluster).To(BeNil())
	one.Spec.InfrastructureRef.Name = cluster().Name
	w.Expect(w.client.Update(t.Context(), one)).To(Succeed())
	of := look(false)
	w.Expect(of.Cluster.Name).To(Equal("one"))
	w.Expect(of.InfraCluster.Name).To(Equal(cluster().Name))
	infra.DeletionTimestamp, infra.OwnerReferences, infra.Labels = &metav1.Time{Time: time.Now()}, nil, nil
	w.Expect(look(false)).To(BeZero(), "its deletion needs none")
}

func TestInfraClusterOfDeletedCluster(t *testing.T) {
	t.Parallel()
	named := func(name, of string) *providertest.Cluster {
		return &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: of}}}
	}
	w := newFixture(t, named("infra", "one"))
	w.Expect(w.client.Create(t.Context(), named("another", "two"))).To(Succeed())
	infra := &providertest.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}
	look := func() (*providertest.Cluster, error) {
		return reconcile.Orphaned[*providertest.Cluster](t.Context(), w.client, infra, &providertest.ClusterList{})
	}
	w.Expect(look()).To(BeNil(), "nothing says which")
	infra.Labels = map[string]string{clusterv1.ClusterNameLabel: "one"}
	w.Expect(look()).To(HaveField("Name", "infra"))
	w.Expect(w.client.Create(t.Context(), named("second", "one"))).To(Succeed())
	w.Expect(look()).To(BeNil(), "it can be either")
}

func TestRemaining(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	scheme := runtime.NewScheme()
	g.Expect(clusterv1.AddToScheme(scheme)).To(Succeed())
	machine := func(name, cluster string) *clusterv1.Machine {
		return &clusterv1.Machine{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: cluster}}}
	}
	set := &clusterv1.MachineSet{ObjectMeta: machine("s", "c").ObjectMeta}
	reader := fake.NewClientBuilder().WithScheme(scheme).WithObjects(machine("m", "c"), machine("other", "another"), set).Build()
	remaining := func(infra *providertest.Cluster) ([]string, error) {
		return reconcile.Remaining(t.Context(), reader, infra, map[string]client.ObjectList{
			"MachineSet": &clusterv1.MachineSetList{}, "Machine": &clusterv1.MachineList{},
		})
	}
	infra := &providertest.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "infra"}}
	g.Expect(remaining(infra)).To(BeEmpty(), "it never had a Cluster")
	infra.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
	g.Expect(remaining(infra)).To(Equal([]string{"Machine m", "MachineSet s"}))
}

func TestStrippedFinalizer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newFixture(t, cluster())
		recorder, strips, sent := events.NewFakeRecorder(100), true, 0
		under := w.client.(client.WithWatch)
		w.client = interceptor.NewClient(under, interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				sent++
				if err := c.Patch(ctx, o, p, opts...); err != nil || !strips {
					return err
				}
				before := o.DeepCopyObject().(client.Object)
				o.SetFinalizers(nil)
				return c.Patch(ctx, o, client.MergeFrom(before))
			},
		})
		w.change = func(l *reconcile.Loop[*providertest.Cluster, *scope]) { l.Recorder = recorder }
		_, err := w.run()
		w.Expect(err).To(MatchError(ContainSubstring("does not store the finalizer test/finalizer of Cluster c")))
		told := conditions.Get(w.stored(), faultlinev1.MetadataKeptCondition)
		w.Expect(told).To(And(HaveField("Status", metav1.ConditionFalse), HaveField("Reason", faultlinev1.ReasonAnnotationsRemoved),
			HaveField("Message", ContainSubstring("the finalizer test/finalizer"))))
		w.Expect(w.stored().Status.FailureDomains).To(HaveLen(1), "the status is written all the same")
		w.Expect(recorder.Events).To(Receive(ContainSubstring("AnnotationsRemoved")))
		for begun := time.Now(); time.Since(begun) < 2*time.Minute; {
			result, err := w.run()
			w.Expect(err != nil || result.RequeueAfter <= 30*time.Second).To(BeTrue())
			time.Sleep(max(result.RequeueAfter, 20*time.Millisecond)) //nolint:forbidigo // the clock is the bubble's
		}
		w.Expect(sent).To(BeNumerically("<=", 18))
		w.Expect(recorder.Events).NotTo(Receive(), "it is reported once")

		strips = false
		time.Sleep(time.Minute) //nolint:forbidigo // the clock is the bubble's
		_, err = w.run()
		w.Expect(err).NotTo(HaveOccurred())
		w.Expect(w.stored().Finalizers).To(ConsistOf(finalizer))
		w.Expect(conditions.Has(w.stored(), faultlinev1.MetadataKeptCondition)).To(BeFalse())
	})
}

// plain is the scope of a kind without conditions.
type plain struct{}

func (*plain) Owner() *clusterv1.Cluster { return nil }

func TestStrippedFinalizerEvent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g, sent, written, recorder := NewWithT(t), 0, patch.Expectations{}, events.NewFakeRecorder(100)
		c := fake.NewClientBuilder().WithObjects(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "m"}}).WithInterceptorFuncs(interceptor.Funcs{
			Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
				sent++
				if err := c.Patch(ctx, o, p, opts...); err != nil {
					return err
				}
				before := o.DeepCopyObject().(client.Object)
				o.SetFinalizers(nil)
				return c.Patch(ctx, o, client.MergeFrom(before))
			},
		}).Build()
		for range 100 {
			_, _ = reconcile.Loop[*corev1.ConfigMap, *plain]{
				Client: c, Expectations: &written, Recorder: recorder, Finalizer: finalizer,
				NewScope:        func(context.Context, *corev1.ConfigMap, *patch.Patch) (*plain, error) { return &plain{}, nil },
				ReconcileNormal: func(context.Context, *plain) (ctrl.Result, error) { return ctrl.Result{}, nil },
			}.Run(t.Context(), ctrl.Request{NamespacedName: client.ObjectKey{Namespace: "ns", Name: "m"}}, &corev1.ConfigMap{})
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // the clock is the bubble's
		}
		g.Expect(sent).To(BeNumerically("<=", 8))
		g.Expect(recorder.Events).To(HaveLen(sent))
		g.Expect(recorder.Events).To(Receive(ContainSubstring("AnnotationsRemoved the API server does not store the finalizer test/finalizer of ConfigMap m")))
	})
}

func TestFormerNamesOfAnnotationsAndLabelsAreRenamedOnce(t *testing.T) {
	t.Parallel()
	c := cluster()
	c.Annotations = map[string]string{
		faultlinev1.FormerName(faultlinev1.CurrentMoveAnnotation): "move",
		faultlinev1.FormerName(faultlinev1.ScaledByAnnotation):    "a user's",
	}
	c.Labels = map[string]string{
		faultlinev1.FormerName(faultlinev1.DistributionKeyLabel): "former", faultlinev1.DistributionKeyLabel: "md-0",
	}
	w := newFixture(t, c)
	_, err := w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.stored().Annotations).To(Equal(map[string]string{
		faultlinev1.CurrentMoveAnnotation: "move", faultlinev1.FormerName(faultlinev1.ScaledByAnnotation): "a user's",
	}))
	w.Expect(w.stored().Labels).To(Equal(map[string]string{faultlinev1.DistributionKeyLabel: "md-0"}))
	w.Expect(w.patched).To(Equal(3), "one more than without: former names are removed once the others are stored")
	_, err = w.run()
	w.Expect(err).NotTo(HaveOccurred())
	w.Expect(w.patched).To(Equal(3), "nothing has changed")
}
