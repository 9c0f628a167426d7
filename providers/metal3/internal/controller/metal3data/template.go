// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3data

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// concurrency is the number of claims of one template that are processed at the same time. Each spends most of its time waiting
// for the API server.
const concurrency = 10

// statusInterval is the minimum time between two writes of a template's status.
const statusInterval = time.Second

// TemplateReconciler reconciles Metal3DataTemplates and their Metal3DataClaims. It creates a Metal3Data for every Metal3DataClaim: it
// allocates an index of the template and derives the name from it.
type TemplateReconciler struct {
	Client client.Client
	// Live reads from the API server when a name is taken by an object that is not in the cache.
	Live client.Reader
	// Recorder emits events for writes that another actor reverts; nil emits none.
	Recorder events.EventRecorder

	clock           clock.PassiveClock
	filter          watch.Filter
	templates       patch.Expectations
	claims          patch.Expectations
	created         patch.Expectations
	lastStatusWrite sync.Map // client.ObjectKey of the template to the time.Time of the last status write
}

// templateScope holds a template and its claims and data.
type templateScope struct {
	key client.ObjectKey
	// template is nil if it does not exist.
	template    *infrav1.Metal3DataTemplate
	patch       *patch.Patch
	claims      []infrav1.Metal3DataClaim
	datas       []infrav1.Metal3Data
	assignments []*assignment
	orphans     []*infrav1.Metal3Data
	indexes     *indexes
	// behind is true if the cache lacks own writes: the template must be requeued once the cache has caught up.
	behind bool
	// statusAfter is the time until the status can be written, if it is out of date.
	statusAfter time.Duration
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconcile processes all claims of a template. Claims of a missing template get an error message, and can be deleted.
func (r *TemplateReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3DataTemplate, *templateScope]{
		Client: r.Client, Filter: r.filter, Expectations: &r.templates, Recorder: r.Recorder,
		NewScope: func(ctx context.Context, template *infrav1.Metal3DataTemplate, p *patch.Patch) (*templateScope, error) {
			return r.newScope(ctx, req.NamespacedName, template, p)
		},
		ReconcileNormal: r.reconcile, ReconcileDelete: r.reconcile, NotFound: r.reconcileNotFound,
		Forget: func(template client.ObjectKey) { r.lastStatusWrite.Delete(template) },
	}.Run(ctx, req, &infrav1.Metal3DataTemplate{})
}

// Owner returns nil: a template may serve several Clusters.
func (s *templateScope) Owner() *clusterv1.Cluster { return nil }

func (r *TemplateReconciler) reconcile(ctx context.Context, s *templateScope) (ctrl.Result, error) {
	if err := r.reconcileFinalizer(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	err := r.reconcileClaims(ctx, s)
	r.updateIndexes(s)
	return s.result(), err
}

func (r *TemplateReconciler) reconcileNotFound(ctx context.Context, template client.ObjectKey) (ctrl.Result, error) {
	s, err := r.newScope(ctx, template, nil, nil)
	if err != nil {
		return ctrl.Result{}, err
	}
	err = r.reconcileClaims(ctx, s)
	return s.result(), err
}

func (s *templateScope) result() ctrl.Result {
	if s.behind {
		return reconcile.Again()
	}
	return ctrl.Result{RequeueAfter: s.statusAfter}
}

// updateIndexes updates the indexes in the status, at most once per statusInterval: otherwise the whole list would be sent for
// each claim of a series.
func (r *TemplateReconciler) updateIndexes(s *templateScope) {
	indexes, now := entries(s.datas, s.assignments), r.clock.Now()
	if slices.Equal(indexes, s.template.Status.Indexes) {
		return
	}
	if last, ok := r.lastStatusWrite.Load(s.key); ok {
		if s.statusAfter = statusInterval - now.Sub(last.(time.Time)); s.statusAfter > 0 {
			return
		}
		s.statusAfter = 0
	}
	r.lastStatusWrite.Store(s.key, now)
	s.template.Status.Indexes = indexes
}

// newScope lists the claims and the data of the template from the cache's indexes, without copying them: most need no change.
// Callers must copy an object before they change it.
func (r *TemplateReconciler) newScope(ctx context.Context, key client.ObjectKey, template *infrav1.Metal3DataTemplate, p *patch.Patch) (*templateScope, error) {
	s := &templateScope{key: key, template: template, patch: p}
	claims, datas := &infrav1.Metal3DataClaimList{}, &infrav1.Metal3DataList{}
	options := []client.ListOption{
		client.InNamespace(key.Namespace), client.MatchingFields{templateIndex: key.Name}, client.UnsafeDisableDeepCopy,
	}
	if err := r.Client.List(ctx, claims, options...); err != nil {
		return nil, fmt.Errorf("listing Metal3DataClaims of %s: %w", key.Name, err)
	}
	if err := r.Client.List(ctx, datas, options...); err != nil {
		return nil, fmt.Errorf("listing Metal3Datas of %s: %w", key.Name, err)
	}
	s.claims, s.datas = claims.Items, datas.Items
	for i := range s.datas {
		r.created.Forget(client.ObjectKeyFromObject(&s.datas[i]))
	}
	s.assignments, s.orphans, s.indexes = match(key.Name, s.claims, s.datas)
	return s, nil
}

// reconcileFinalizer keeps the finalizer on the template while it has claims or data. The finalizer is stored before the first
// data is created.
func (r *TemplateReconciler) reconcileFinalizer(ctx context.Context, s *templateScope) error {
	switch {
	case s.template.DeletionTimestamp.IsZero():
		controllerutil.AddFinalizer(s.template, infrav1.DataTemplateFinalizer)
	case len(s.claims) == 0 && len(s.datas) == 0:
		controllerutil.RemoveFinalizer(s.template, infrav1.DataTemplateFinalizer)
	}
	return client.IgnoreNotFound(s.patch.StoreSpec(ctx, r.Client, s.template))
}

// reconcileClaims processes all claims and orphaned data, and continues after an error.
func (r *TemplateReconciler) reconcileClaims(ctx context.Context, s *templateScope) error {
	paused, err := r.pausedClusters(ctx, s)
	if err != nil {
		return err
	}
	var work []func(context.Context) error
	for _, a := range s.assignments {
		if !r.isPausedOrFiltered(a.claim, paused) {
			work = append(work, r.pendingWork(s, a)...)
		}
	}
	for _, data := range s.orphans {
		if data.DeletionTimestamp.IsZero() && !r.isPausedOrFiltered(data, paused) {
			work = append(work, func(ctx context.Context) error { return r.releaseOrphan(ctx, data) })
		}
	}
	errs := make([]error, len(work))
	workqueue.ParallelizeUntil(ctx, concurrency, len(work), func(i int) { errs[i] = work[i](ctx) })
	return kerrors.NewAggregate(errs)
}

// isPausedOrFiltered reports whether the object is paused or belongs to another manager.
func (r *TemplateReconciler) isPausedOrFiltered(o client.Object, pausedClusters map[string]bool) bool {
	return pausedClusters[o.GetLabels()[clusterv1.ClusterNameLabel]] || annotations.HasPaused(o) || !r.filter.Passes(o)
}

// pendingWork returns the pending work of a claim. Nothing is due until the cache contains this process's own writes.
func (r *TemplateReconciler) pendingWork(s *templateScope, a *assignment) []func(context.Context) error {
	switch {
	case r.claims.Stale(a.claim) || a.data == nil && a.reserved && r.isCreated(s.key, a.index):
		s.behind = true
		return nil
	case !a.claim.DeletionTimestamp.IsZero():
		a.claim = a.claim.DeepCopy()
		return []func(context.Context) error{func(ctx context.Context) error { return r.release(ctx, a) }}
	case a.data == nil || !recorded(a):
		a.claim = a.claim.DeepCopy()
		return []func(context.Context) error{func(ctx context.Context) error { return r.allocate(ctx, s, a) }}
	}
	return nil
}

// isCreated reports whether the data has been created but is not in the cache yet. A missing object counts as resourceVersion 1.
func (r *TemplateReconciler) isCreated(template client.ObjectKey, index int32) bool {
	data := &infrav1.Metal3Data{}
	data.Namespace, data.Name, data.ResourceVersion = template.Namespace, dataName(template.Name, index), "1"
	return r.created.Stale(data)
}

// pausedClusters reports which clusters are paused. A paused cluster may be being moved: its claims and data are created one by
// one in the target cluster, and must not change here.
func (r *TemplateReconciler) pausedClusters(ctx context.Context, s *templateScope) (map[string]bool, error) {
	paused := map[string]bool{}
	check := func(labels map[string]string) error {
		name := labels[clusterv1.ClusterNameLabel]
		if _, known := paused[name]; known || name == "" {
			return nil
		}
		cluster := &clusterv1.Cluster{}
		if err := r.Client.Get(ctx, client.ObjectKey{Namespace: s.key.Namespace, Name: name}, cluster); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading Cluster %s: %w", name, err)
		}
		paused[name] = ptr.Deref(cluster.Spec.Paused, false)
		return nil
	}
	for i := range s.claims {
		if err := check(s.claims[i].Labels); err != nil {
			return nil, err
		}
	}
	for _, data := range s.orphans {
		if err := check(data.Labels); err != nil {
			return nil, err
		}
	}
	return paused, nil
}
