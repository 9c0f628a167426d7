// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"context"
	"errors"
	"sync"
	"time"

	"k8s.io/client-go/tools/events"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// settlePeriod is how long assignments are collected before they are reported: when five hundred machines are created within seconds,
// the status is written a few times, not five hundred times.
const settlePeriod = time.Second

// Reconciler spreads the workers of clusters. Each request is for one cluster, so that all decisions about its machines are made
// sequentially.
type Reconciler struct {
	Client client.Client
	// Live reads from the API server before a machine is deleted.
	Live     client.Reader
	Recorder events.EventRecorder
	Clock    clock.PassiveClock
	Metrics  *distribution.Metrics
	Provider provider.Provider

	filter   watch.Filter
	clusters patch.Expectations // infrastructure clusters
	machines patch.Expectations // Machines; it also writes the metadata of infrastructure machines
	assigned memory
	busy     sync.Map // key of an infrastructure cluster -> when its machines were last assigned domains
	// markedByOthers maps the key of an infrastructure cluster to the UIDs of MachineDeployments whose machines another client has marked.
	markedByOthers sync.Map
}

// Reconcile assigns domains to waiting machines, marks the machines of each MachineDeployment that should be deleted next, moves
// machines if rebalance is DeleteOne, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	cluster := r.Provider.NewCluster()
	if err := r.Client.Get(ctx, req.NamespacedName, cluster); err != nil {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	if !r.filter.Passes(cluster) {
		r.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait := r.clusters.Backoff(cluster); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	s, err := r.observe(ctx, cluster)
	if err != nil || s == nil {
		return ctrl.Result{}, err
	}
	result, err := r.reconcile(ctx, s)
	undone := &patch.RemovedError{}
	if !errors.As(err, &undone) {
		return reconcile.Outcome(result, err)
	}
	return reconcile.Outcome(result, err, r.reportUndone(ctx, s, undone))
}

func (r *Reconciler) forget(cluster client.ObjectKey) {
	r.clusters.Forget(cluster)
	r.busy.Delete(cluster)
	r.markedByOthers.Delete(cluster)
}

// reconcile does nothing for a cluster that is being deleted, because its machines are deleted, or that is paused, because the
// controllers that act on its writes are paused. If only the infrastructure cluster is paused, or workers are no longer spread,
// it removes its marks.
func (r *Reconciler) reconcile(ctx context.Context, s *scope) (ctrl.Result, error) {
	wanted, _ := s.cluster.Distribution()
	switch {
	case !s.cluster.GetDeletionTimestamp().IsZero() || !s.owner.DeletionTimestamp.IsZero() || annotations.IsPaused(s.owner, s.owner):
		return ctrl.Result{}, nil
	case annotations.HasPaused(s.cluster):
		return r.markForScaleDown(ctx, s, selectNone)
	case !wanted.SpreadsWorkers():
		if result, err := r.markForScaleDown(ctx, s, selectNone); err != nil || !result.IsZero() {
			return result, err
		}
		return ctrl.Result{}, r.removeStatus(ctx, s)
	}
	return r.spread(ctx, s)
}

func (r *Reconciler) spread(ctx context.Context, s *scope) (ctrl.Result, error) {
	given, refused, err := Assign(s.state)
	if err != nil {
		return ctrl.Result{}, err
	}
	if len(given)+len(refused) > 0 {
		ctrl.LoggerFrom(ctx).V(4).Info("Decided", "assigned", given, "refused", refused)
	}
	if err := r.assign(ctx, s, given); err != nil {
		return ctrl.Result{}, err
	}
	if err := r.label(ctx, s); err != nil {
		return ctrl.Result{}, err
	}
	if result, err := r.markForScaleDown(ctx, s, s.selectMarks); err != nil || !result.IsZero() {
		return result, err
	}
	if wait := r.settling(client.ObjectKeyFromObject(s.cluster)); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	return r.report(ctx, s, refused)
}

// settling returns the time until assignments should be reported.
func (r *Reconciler) settling(cluster client.ObjectKey) time.Duration {
	last, ok := r.busy.Load(cluster)
	if !ok {
		return 0
	}
	return settlePeriod - r.Clock.Since(last.(time.Time))
}
