// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3datatemplate gives every Metal3DataClaim its Metal3Data: an index of the template, and a name made of it.
package metal3datatemplate

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

// parallel is how many claims of one template are served at a time. They wait for the API server, not for each other.
const parallel = 10

// showInterval is the least time between two writes of a template's status.
const showInterval = time.Second

// Reconciler drives Metal3DataTemplates and their Metal3DataClaims.
type Reconciler struct {
	Client client.Client
	// Live reads past the cache, where a name turns out to be taken by something that the cache has not seen.
	Live client.Reader
	// Recorder tells of writes that are not kept; nil tells nothing.
	Recorder events.EventRecorder

	clock     clock.PassiveClock
	filter    watch.Filter
	templates patch.Written
	claims    patch.Written
	created   patch.Written
	shown     sync.Map // template key to the time.Time of the last write of its status
}

// scope is a template with all that belongs to it.
type scope struct {
	key client.ObjectKey
	// template is nil when it does not exist, or no more.
	template    *infrav1.Metal3DataTemplate
	patch       *patch.Patch
	claims      []infrav1.Metal3DataClaim
	datas       []infrav1.Metal3Data
	assignments []*assignment
	orphans     []*infrav1.Metal3Data
	indexes     *indexes
	// behind says that the cache lacks some of what was written: there is more to do when it has caught up.
	behind bool
	// showAgain is when the status may be written next, if it is not as it should be.
	showAgain time.Duration
}

// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datatemplates/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3dataclaims/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3datas,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get;list;watch

// Reconcile serves all claims of a template. Claims of a template that does not exist are told so, and can be deleted.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	return reconcile.Loop[*infrav1.Metal3DataTemplate, *scope]{
		Client: r.Client, Filter: r.filter, Written: &r.templates, Recorder: r.Recorder,
		Gather: func(ctx context.Context, template *infrav1.Metal3DataTemplate, p *patch.Patch) (*scope, error) {
			return r.gather(ctx, req.NamespacedName, template, p)
		},
		Normal: r.reconcile, Delete: r.reconcile, Absent: r.reconcileAbsent,
		Forget: func(template client.ObjectKey) { r.shown.Delete(template) },
	}.Run(ctx, req, &infrav1.Metal3DataTemplate{})
}

// Owner is nil: a template may serve several Clusters.
func (s *scope) Owner() *clusterv1.Cluster { return nil }

func (r *Reconciler) reconcile(ctx context.Context, s *scope) (ctrl.Result, error) {
	if err := r.hold(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	err := r.serve(ctx, s)
	r.show(s)
	return s.result(), err
}

func (r *Reconciler) reconcileAbsent(ctx context.Context, template client.ObjectKey) (ctrl.Result, error) {
	s, err := r.gather(ctx, template, nil, nil)
	if err != nil {
		return ctrl.Result{}, err
	}
	err = r.serve(ctx, s)
	return s.result(), err
}

func (s *scope) result() ctrl.Result {
	if s.behind {
		return reconcile.Again()
	}
	return ctrl.Result{RequeueAfter: s.showAgain}
}

// show brings the indexes into the status, but not more often than is of use to a reader: with claims coming one by one
// the whole list would be sent for each.
func (r *Reconciler) show(s *scope) {
	indexes, now := entries(s.datas, s.assignments), r.clock.Now()
	if slices.Equal(indexes, s.template.Status.Indexes) {
		return
	}
	if last, ok := r.shown.Load(s.key); ok {
		if s.showAgain = showInterval - now.Sub(last.(time.Time)); s.showAgain > 0 {
			return
		}
		s.showAgain = 0
	}
	r.shown.Store(s.key, now)
	s.template.Status.Indexes = indexes
}

// gather reads the claims and the data of the template, out of the cache's indexes and without copies of them: most need
// nothing done. Whoever changes one makes a copy of it.
func (r *Reconciler) gather(ctx context.Context, key client.ObjectKey, template *infrav1.Metal3DataTemplate, p *patch.Patch) (*scope, error) {
	s := &scope{key: key, template: template, patch: p}
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

// hold keeps the template as long as it has claims or data. The finalizer is stored before the first data exists.
func (r *Reconciler) hold(ctx context.Context, s *scope) error {
	switch {
	case s.template.DeletionTimestamp.IsZero():
		controllerutil.AddFinalizer(s.template, infrav1.DataTemplateFinalizer)
	case len(s.claims) == 0 && len(s.datas) == 0:
		controllerutil.RemoveFinalizer(s.template, infrav1.DataTemplateFinalizer)
	}
	return client.IgnoreNotFound(s.patch.StoreSpec(ctx, r.Client, s.template))
}

// serve does for every claim what is to be done, and goes on when it fails for one.
func (r *Reconciler) serve(ctx context.Context, s *scope) error {
	paused, err := r.pausedClusters(ctx, s)
	if err != nil {
		return err
	}
	var todo []func(context.Context) error
	for _, a := range s.assignments {
		if !r.leftAlone(a.claim, paused) {
			todo = append(todo, r.due(s, a)...)
		}
	}
	for _, data := range s.orphans {
		if data.DeletionTimestamp.IsZero() && !r.leftAlone(data, paused) {
			todo = append(todo, func(ctx context.Context) error { return r.releaseOrphan(ctx, data) })
		}
	}
	errs := make([]error, len(todo))
	workqueue.ParallelizeUntil(ctx, parallel, len(todo), func(i int) { errs[i] = todo[i](ctx) })
	return kerrors.NewAggregate(errs)
}

// leftAlone reports whether an object is paused, or another manager's.
func (r *Reconciler) leftAlone(o client.Object, pausedClusters map[string]bool) bool {
	return pausedClusters[o.GetLabels()[clusterv1.ClusterNameLabel]] || annotations.HasPaused(o) || !r.filter.Passes(o)
}

// due is what is to be done for a claim: nothing before the cache has caught up with what was done already.
func (r *Reconciler) due(s *scope, a *assignment) []func(context.Context) error {
	switch {
	case r.claims.Behind(a.claim) || a.data == nil && a.promised && r.isCreated(s.key, a.index):
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

// isCreated reports whether the data was created and the cache has not seen it yet. What the cache lacks counts as its
// first version.
func (r *Reconciler) isCreated(template client.ObjectKey, index int32) bool {
	data := &infrav1.Metal3Data{}
	data.Namespace, data.Name, data.ResourceVersion = template.Namespace, dataName(template.Name, index), "1"
	return r.created.Behind(data)
}

// pausedClusters reports which of the clusters are paused. A paused cluster may be on its way to another management
// cluster: its claims and data come one by one there, and must stay as they are here.
func (r *Reconciler) pausedClusters(ctx context.Context, s *scope) (map[string]bool, error) {
	paused := map[string]bool{}
	look := func(labels map[string]string) error {
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
		if err := look(s.claims[i].Labels); err != nil {
			return nil, err
		}
	}
	for _, data := range s.orphans {
		if err := look(data.Labels); err != nil {
			return nil, err
		}
	}
	return paused, nil
}
