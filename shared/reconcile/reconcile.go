// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconcile provides the steps before and after the work of a reconciler. A controller that changes objects of its own
// kind runs them with a Loop. A controller that only reads its own objects and changes others does not need one. The life cycle
// of a machine is a list of Steps run inside a Loop. A request that the API server rejects until a user acts results in a
// RejectedError.
package reconcile

import (
	"context"
	"errors"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/client-go/tools/events"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/annotations"
	"sigs.k8s.io/cluster-api/util/conditions"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/patch"
	"github.com/faultline-io/faultline/shared/status"
	"github.com/faultline-io/faultline/shared/watch"
)

// Scope holds the state of one reconcile. The zero value means that there is nothing to reconcile.
type Scope interface {
	comparable
	// Owner returns the Cluster whose spec.paused also applies to the object; nil if none exists.
	Owner() *clusterv1.Cluster
}

// Loop configures the reconciler of one kind. Run performs these steps in order:
//
//   - reads the object, and ignores it if another manager is responsible for it;
//   - requeues as long as the cache shows the object as it was before the loop's own last write;
//   - calls NewScope to read the objects that the work depends on;
//   - waits without writing while another controller should write first (Delay);
//   - if the object or its Cluster is paused, only sets the Paused condition;
//   - calls ReconcileDelete, or adds the finalizer and calls ReconcileNormal;
//   - calls Summarize and writes all changes in as few requests as possible, even if the work failed. Conditions that are about to
//     change again may be written later (Debounce).
//
// A conflict, in the work or in a write, is not an error: the object is requeued once the cache has had time to catch up, with a
// backoff that grows on each further conflict.
type Loop[T client.Object, S Scope] struct {
	Client client.Client
	Filter watch.Filter
	// Expectations tracks the loop's writes between reconciles. Share one per controller.
	Expectations *patch.Expectations
	// Finalizer is added to the object before ReconcileNormal runs; "" for a kind that adds its own once there is something to protect.
	Finalizer string
	// PausedOnlyWhenTrue omits the Paused condition until it has been true once. Other kinds with conditions show it from the
	// beginning, as the Cluster API contract requires.
	PausedOnlyWhenTrue bool
	// SharedConditions is true if other controllers also set conditions on the kind.
	SharedConditions bool

	// Recorder records an event when another writer reverts the loop's writes. It may be nil.
	Recorder events.EventRecorder

	// V1Beta1 configures the conditions shown in the deprecated v1beta1 status.
	V1Beta1 status.V1Beta1

	// NewScope reads the objects that the work depends on. The patch may be used to write the object before the work is finished.
	NewScope func(ctx context.Context, obj T, p *patch.Patch) (S, error)
	// ReconcileNormal is the work for an object that is neither paused nor being deleted.
	ReconcileNormal func(context.Context, S) (ctrl.Result, error)
	// ReconcileDelete is the work for an object that is being deleted; it removes the finalizer. It may be nil.
	ReconcileDelete func(context.Context, S) (ctrl.Result, error)
	// ReconcilePaused is the work for a paused object; it must set the Paused condition itself. If it is nil, the loop only sets the
	// condition.
	ReconcilePaused func(context.Context, S) (ctrl.Result, error)

	// Delay returns how long an object that is neither paused nor being deleted should be left untouched, without even adding the
	// finalizer, because another controller should write first. It may be nil.
	Delay func(S) time.Duration
	// Debounce returns how long condition changes of an object may stay unwritten, counted from the last write of the object or
	// from when the loop first saw it. Use it for conditions that are about to change again. It does not apply to an object that
	// is paused or being deleted, or whose work failed, and it does not delay other changes: conditions are then written along
	// with them. It may be nil.
	Debounce func(S) time.Duration
	// Summarize completes the status before it is written. It may be nil, as may the functions below.
	Summarize func(context.Context, S) error
	// Stored is called after everything has been written.
	Stored func(S)
	// Forget is called for an object that no longer exists or that another manager is responsible for.
	Forget func(client.ObjectKey)
	// NotFound is the work for an object that does not exist. It runs after Forget.
	NotFound func(context.Context, client.ObjectKey) (ctrl.Result, error)
}

// Run reconciles the object of the request, which it reads into obj. Errors that are expected to resolve, such as conflicts, are
// returned as a requeue.
func (l Loop[T, S]) Run(ctx context.Context, req ctrl.Request, obj T) (result ctrl.Result, reterr error) {
	switch err := l.Client.Get(ctx, req.NamespacedName, obj); {
	case apierrors.IsNotFound(err):
		l.forget(req.NamespacedName)
		if l.NotFound != nil {
			return l.NotFound(ctx, req.NamespacedName)
		}
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case !l.Filter.Passes(obj):
		l.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait := l.Expectations.Backoff(obj); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	p := patch.From(obj)
	faultlinev1.Rename(obj)
	p.SharedConditions, p.Repeats = l.SharedConditions, &l.Expectations.Repeats
	var nothing S
	s, err := l.NewScope(ctx, obj, &p)
	if err != nil || s == nothing {
		return ctrl.Result{}, err
	}
	if wait := l.quiet(obj, s); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	work := l.work(obj, s)
	defer func() {
		settled, errs := l.finish(ctx, &p, obj, s, reterr)
		result, reterr = Outcome(sooner(result, settled), errs...)
	}()
	if work == nil {
		return ctrl.Result{}, nil
	}
	return work(ctx, s)
}

// finish writes the changes made by the work. It returns the errors of both, and the time after which deferred changes must be
// written.
func (l Loop[T, S]) finish(ctx context.Context, p *patch.Patch, obj T, s S, failed error) (time.Duration, []error) {
	var without error // the error of a write that another writer reverts, which the work continued without
	if p.Undone != nil {
		without = p.Undone
	}
	for _, err := range parts(failed) {
		_ = errors.As(err, &p.Undone)
	}
	settled, err := l.save(ctx, p, obj, s, failed != nil || without != nil)
	return settled, []error{failed, without, err}
}

func (l Loop[T, S]) forget(key client.ObjectKey) {
	l.Expectations.Forget(key)
	if l.Forget != nil {
		l.Forget(key)
	}
}

func (l Loop[T, S]) quiet(obj T, s S) time.Duration {
	if l.Delay == nil || paused(s.Owner(), obj) || !obj.GetDeletionTimestamp().IsZero() {
		return 0
	}
	return l.Delay(s)
}

// work returns the work for the object, or nil if none exists, and sets the Paused condition.
func (l Loop[T, S]) work(obj T, s S) func(context.Context, S) (ctrl.Result, error) {
	if paused(s.Owner(), obj) {
		if l.ReconcilePaused == nil {
			l.showPaused(obj, true)
		}
		return l.ReconcilePaused
	}
	l.showPaused(obj, false)
	if !obj.GetDeletionTimestamp().IsZero() {
		return l.ReconcileDelete
	}
	if l.Finalizer != "" {
		controllerutil.AddFinalizer(obj, l.Finalizer)
	}
	return l.ReconcileNormal
}

func paused(owner *clusterv1.Cluster, obj client.Object) bool {
	if owner == nil {
		return annotations.HasPaused(obj)
	}
	return annotations.IsPaused(owner, obj)
}

func (l Loop[T, S]) showPaused(obj T, is bool) {
	o, ok := any(obj).(status.Object)
	if !ok || l.PausedOnlyWhenTrue && !is && !conditions.Has(o, clusterv1.PausedCondition) {
		return
	}
	status.Paused(o, is)
}

// save writes the changes, or returns the time after which to reconcile again because it deferred the write.
func (l Loop[T, S]) save(ctx context.Context, p *patch.Patch, obj T, s S, failed bool) (time.Duration, error) {
	idle := l.ReconcilePaused == nil && paused(s.Owner(), obj) // the work did not run, so there is nothing to summarize
	if l.Summarize != nil && !idle {
		if err := l.Summarize(ctx, s); err != nil {
			return 0, ignoreNotFound(obj, err)
		}
	}
	l.V1Beta1.Show(obj)
	if !failed {
		if wait, err := l.settles(p, obj, s); err != nil || wait > 0 {
			l.Expectations.Observe(obj) // Metadata and spec may have been written.
			return wait, err
		}
	}
	return l.apply(ctx, p, obj, s, l.Stored != nil && !idle)
}

// apply writes the changes. It returns when the condition about reverted writes should be removed.
func (l Loop[T, S]) apply(ctx context.Context, p *patch.Patch, obj T, s S, tell bool) (again time.Duration, _ error) {
	told := undone(obj)
	err := p.Apply(ctx, l.Client, obj)
	removed := p.Undone
	if err != nil && !errors.As(err, &removed) {
		return 0, ignoreNotFound(obj, err)
	}
	l.tellUndone(obj, told, removed)
	l.Expectations.Observe(obj)
	if err != nil {
		return 0, err
	}
	if tell {
		l.Stored(s)
	}
	if shown := l.Expectations.Repeats.Undone(l.Client, obj); shown != nil {
		again = shown.Ends
	}
	return again, nil
}

// undone returns the MetadataKept condition, which reports metadata that another writer removes; nil if none exists.
func undone(obj client.Object) *metav1.Condition {
	o, ok := obj.(status.Object)
	if !ok {
		return nil
	}
	return conditions.Get(o, faultlinev1.MetadataKeptCondition).DeepCopy()
}

// tellUndone records an event when another writer begins to revert the loop's writes. For a kind without conditions, it records
// every reported removal.
func (l Loop[T, S]) tellUndone(obj client.Object, before *metav1.Condition, removed *patch.RemovedError) {
	_, shows := obj.(status.Object)
	now := undone(obj)
	switch {
	case l.Recorder == nil:
	case shows && now != nil && (before == nil || before.Message != now.Message):
		l.Recorder.Eventf(obj, nil, corev1.EventTypeWarning, now.Reason, "Write", "%s", now.Message)
	case !shows && removed != nil && removed.Reportable:
		l.Recorder.Eventf(obj, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "Write", "%s", removed)
	}
}

// settles returns how much longer the changes may stay unwritten.
func (l Loop[T, S]) settles(p *patch.Patch, obj T, s S) (time.Duration, error) {
	if l.Debounce == nil || paused(s.Owner(), obj) || !obj.GetDeletionTimestamp().IsZero() {
		return 0, nil
	}
	wait := l.Debounce(s) - time.Since(l.Expectations.At(obj))
	if wait <= 0 {
		return 0, nil
	}
	only, err := p.ConditionsOnly(obj)
	if !only {
		wait = 0
	}
	return wait, err
}

// sooner returns the result with RequeueAfter lowered to after; 0 means never.
func sooner(result ctrl.Result, after time.Duration) ctrl.Result {
	result.RequeueAfter = Earlier(result.RequeueAfter, after)
	return result
}

// Earlier returns the shorter of two delays, where 0 means never.
func Earlier(a, b time.Duration) time.Duration {
	if b > 0 && (a <= 0 || b < a) {
		return b
	}
	return a
}

// ignoreNotFound ignores a not-found error for an object that was deleted because its finalizer was removed.
func ignoreNotFound(obj client.Object, err error) error {
	if obj.GetDeletionTimestamp().IsZero() {
		return err
	}
	return client.IgnoreNotFound(err)
}

// Outcome merges the errors of the parts of a reconcile into its result. A conflict, or a cache that lags behind, is not an
// error: the object is requeued once the cache has had time to catch up. A write that is paused because another writer reverts it
// is retried when it may be.
func Outcome(result ctrl.Result, errs ...error) (ctrl.Result, error) {
	var failed []error
	lost := false
	for _, err := range parts(errs...) {
		undone := &patch.RemovedError{}
		switch {
		case apierrors.IsConflict(err), errors.Is(err, patch.ErrBehind):
			lost = true
		case errors.As(err, &undone) && undone.Paused:
			result = sooner(result, undone.Again())
		case err != nil:
			failed = append(failed, err)
		}
	}
	if len(failed) > 0 {
		return ctrl.Result{}, kerrors.NewAggregate(failed)
	}
	if lost {
		return Again(), nil
	}
	return result, nil
}

// parts splits errors that only join others, because one of them may be a conflict and the others not.
func parts(errs ...error) (all []error) {
	for _, err := range errs {
		var listed []error
		switch list := err.(type) { //nolint:errorlint // an error that wraps a list has more details than the list
		case nil:
			continue
		case kerrors.Aggregate:
			listed = list.Errors()
		case interface{ Unwrap() []error }:
			if joined := list.Unwrap(); errors.Join(joined...).Error() == err.Error() {
				listed = joined
			}
		}
		if listed == nil {
			all = append(all, err)
			continue
		}
		all = append(all, parts(listed...)...)
	}
	return all
}

// Again returns the result for a reconcile that must be repeated with the queue's rate limit, as after an error, without being an
// error. Unlike a fixed delay, the rate limiter counts the attempts, so writes that keep conflicting become less frequent.
func Again() ctrl.Result {
	return ctrl.Result{Requeue: true} //nolint:staticcheck // An error would be logged, and counted as such, whenever two write at the same time.
}
