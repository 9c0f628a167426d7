// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/cluster-api/util/annotations"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/allocation"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam/ippools"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// Reasons of the condition Ready of an IPPool when it is false.
const (
	// reasonRanges surfaces when spec.ranges has no address, or overlaps with an older IPPool.
	reasonRanges = "RangesInvalid"
	// reasonSelector surfaces when another IPPool has the same priority and scope, so that neither is selected.
	reasonSelector = "SelectorInvalid"
	// reasonTwice surfaces when two holders are recorded for one address.
	reasonTwice = "AddressHeldTwice"
	// reasonAnothers surfaces when the address of a LoadBalancer is recorded for another holder.
	reasonAnothers = "AddressHeldByAnother"
)

// settlePause is the minimum interval between two settlements of a pool, because a pool changes with every allocation.
const settlePause = time.Second

// IPPoolReconciler keeps the status of IPPools correct: the counts, the history and the condition Ready. The Allocator writes the holders
// for load balancers; other clients write holders, too.
type IPPoolReconciler struct {
	Client client.Client
	// Live reads from the API server.
	Live      client.Reader
	Addresses *ipam.Allocator
	Recorder  events.EventRecorder
	// Filter ignores pools of other managers.
	Filter watch.Filter

	// lastUpdate is when each pool was last updated.
	lastUpdate sync.Map
	writes     patch.Repeats
}

// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=ippoolblocks,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=loadbalancer.harvesterhci.io,resources=loadbalancers,verbs=get
// +kubebuilder:rbac:groups="",resources=services,verbs=get
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch

// Reconcile updates the status of a pool.
func (r *IPPoolReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	pool, err := reconcile.Find(ctx, r.Client, req.NamespacedName, &lbv1.IPPool{})
	if err != nil {
		return ctrl.Result{}, err
	}
	if pool == nil {
		r.lastUpdate.Delete(req.Name)
		r.Addresses.Forget(req.Name)
		return ctrl.Result{}, nil
	}
	if annotations.HasPaused(pool) || !r.Filter.Passes(pool) {
		return ctrl.Result{}, nil
	}
	wait, err := r.updateStatus(ctx, pool)
	return reconcile.Outcome(ctrl.Result{RequeueAfter: wait}, client.IgnoreNotFound(err))
}

// updateStatus updates the status of a pool and returns the requeue interval; 0 for none.
func (r *IPPoolReconciler) updateStatus(ctx context.Context, pool *lbv1.IPPool) (time.Duration, error) {
	deleting := !pool.DeletionTimestamp.IsZero()
	if !deleting {
		if err := r.prepare(ctx, pool); err != nil {
			return 0, err
		}
		if wait := r.remainingPause(pool.Name); wait > 0 {
			return wait, nil
		}
	}
	all := &lbv1.IPPoolList{}
	if err := r.Client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil { // read-only
		return 0, fmt.Errorf("listing IPPools: %w", err)
	}
	var why problem
	obstacles := ippools.Obstacles(pool, all.Items)
	if len(ippools.Overlapping(pool, all.Items)) > 0 {
		r.Addresses.Reread(pool.Name)
	}
	summary, err := r.Addresses.UpdateStatus(ctx, pool.Name, obstacles, func(s allocation.Summary) (reason, message string) {
		why = problemOfPool(pool, obstacles, ippools.Unclear(pool, all.Items), s)
		return why.reason, why.message
	})
	if err != nil {
		return 0, err
	}
	r.lastUpdate.Store(pool.Name, time.Now())
	if summary.ConditionChanged && why != (problem{}) {
		r.Recorder.Eventf(pool, nil, corev1.EventTypeWarning, why.reason, "Settle", "%s", why.message)
	}
	for _, e := range summary.Entered {
		r.Recorder.Eventf(pool, nil, corev1.EventTypeWarning, "AddressEntered", "Settle",
			"LoadBalancer %s uses %s, which neither status.allocated nor an IPPoolBlock recorded any more: it was recorded again; delete the LoadBalancer to release it",
			e.ID, e.Address)
	}
	if deleting && summary.Held == 0 {
		return 0, r.removeFinalizer(ctx, pool)
	}
	return summary.NextRelease, r.Addresses.Repair(ctx, pool.Name, summary.Several, r.inUse)
}

// remainingPause returns the remaining pause of a pool.
func (r *IPPoolReconciler) remainingPause(pool string) time.Duration {
	last, ok := r.lastUpdate.Load(pool)
	if !ok {
		return 0
	}
	return settlePause - time.Since(last.(time.Time))
}

// prepare adds the finalizer and processes the release annotation.
func (r *IPPoolReconciler) prepare(ctx context.Context, pool *lbv1.IPPool) error {
	if err := r.addFinalizer(ctx, pool); err != nil {
		return err
	}
	return r.releaseByHand(ctx, pool)
}

// addFinalizer adds the finalizer that keeps the pool while it has holders.
func (r *IPPoolReconciler) addFinalizer(ctx context.Context, pool *lbv1.IPPool) error {
	before := pool.DeepCopy()
	if !controllerutil.AddFinalizer(pool, lbv1.IPPoolFinalizer) {
		return nil
	}
	if err := r.writes.Write(ctx, r.Client, before, pool); err != nil {
		if undone, news := patch.ReportableError(err); news {
			r.Recorder.Eventf(pool, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "Settle", "%s", undone)
		}
		return fmt.Errorf("adding the finalizer to IPPool %s: %w", pool.Name, err)
	}
	return nil
}

// removeFinalizer removes the finalizer with the resourceVersion that was read, so that a concurrent allocation is not lost.
func (r *IPPoolReconciler) removeFinalizer(ctx context.Context, pool *lbv1.IPPool) error {
	before := pool.DeepCopy()
	if !controllerutil.RemoveFinalizer(pool, lbv1.IPPoolFinalizer) {
		return nil
	}
	if err := r.writes.Write(ctx, r.Client, before, pool); err != nil {
		return fmt.Errorf("removing the finalizer of IPPool %s: %w", pool.Name, client.IgnoreNotFound(err))
	}
	return nil
}

// problemOfPool returns why a pool is not ready.
func problemOfPool(pool *lbv1.IPPool, obstacles, unclear field.ErrorList, summary allocation.Summary) problem {
	switch {
	case !pool.DeletionTimestamp.IsZero() && summary.Held > 0:
		return problem{reasonDeleting, fmt.Sprintf("%d addresses are held: delete the load balancers and machines that hold them", summary.Held)}
	case len(obstacles) > 0:
		return problem{reasonRanges, "no addresses are allocated: " + obstacles.ToAggregate().Error()}
	case len(summary.Doubled) > 0:
		return problem{reasonTwice, fmt.Sprintf(
			"%s has several holders in status.allocated and IPPoolBlocks: delete all but one of them", summary.Doubled[0])}
	case len(summary.Disputed) > 0:
		of := summary.Disputed[0]
		return problem{reasonAnothers, fmt.Sprintf(
			"LoadBalancer %s uses %s, but status.allocated or an IPPoolBlock records %s as its holder: remove that entry, and the LoadBalancer is recorded again",
			of.ID, of.Address, of.Holder)}
	case len(unclear) > 0:
		return problem{reasonSelector, unclear.ToAggregate().Error()}
	}
	return problem{}
}
