// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package reconcile is what comes before and after the work of every reconciler. A controller that changes objects of its own kind
// has a Loop for it; one that only reads its objects, and changes others', needs none. A machine's life cycle is a list of steps in it. A
// request that the API server refuses until its user does something is a RefusedError.
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

// Scope is what one reconcile knows. Its zero value means that there is nothing to be done.
type Scope interface {
	comparable
	// Owner is the Cluster whose pause is the object's too; nil when there is none.
	Owner() *clusterv1.Cluster
}

// Loop says what one kind's reconciles are made of. In this order, Run
//
//   - reads the object, and leaves alone what is another manager's;
//   - stands back as long as the cache shows the object as it was before the loop's own last write;
//   - gathers what the work depends on;
//   - waits in silence while another's write is to come first;
//   - does nothing but say so while the object or its Cluster is paused;
//   - deletes, or adds the finalizer and does the normal work;
//   - sums up, and writes everything that has changed in as few requests as there can be, also when the work has failed; conditions that
//     are about to change again it may write later.
//
// Work, or a write, that has lost against another's is no error: the loop comes again when the cache has had time to show it, and later each
// time that it loses again.
type Loop[T client.Object, S Scope] struct {
	Client client.Client
	Filter watch.Filter
	// Written remembers the loop's writes from one reconcile to the next.
	Written *patch.Written
	// Finalizer is on the object before Normal runs; "" for a kind that adds its own when there is something to hold.
	Finalizer string
	// PausedOnlyWhenTrue leaves the condition Paused out until it has been true once. Other kinds that have conditions show it from
	// the beginning, as Cluster API asks of its contract's kinds.
	PausedOnlyWhenTrue bool
	// SharedConditions says that other controllers set conditions of the kind too.
	SharedConditions bool

	// Recorder tells of writes that somebody undoes; it may be nil.
	Recorder events.EventRecorder

	// V1Beta1 is what is shown of the conditions to those who read v1beta1.
	V1Beta1 status.V1Beta1

	// Gather reads what the work depends on. The patch writes the object before the work is over.
	Gather func(ctx context.Context, obj T, p *patch.Patch) (S, error)
	Normal func(context.Context, S) (ctrl.Result, error)
	// Delete is the work for an object that is being deleted; it removes the finalizer. nil when there is none.
	Delete func(context.Context, S) (ctrl.Result, error)
	// Paused is the work for a paused object, which then sets the condition itself. nil for the condition alone.
	Paused func(context.Context, S) (ctrl.Result, error)

	// Quiet is how long an object that is neither paused nor being deleted is to be left as it is, not even its finalizer written, because
	// another's write is to come first. It may be nil.
	Quiet func(S) time.Duration
	// Settle is how long conditions of an object that is neither paused nor being deleted, and whose work has not failed, may be left unwritten
	// since the last write of the object, or since the loop has first seen it. It is for those that are about to change again, and does not
	// put off what else has changed: then conditions are written too. It may be nil.
	Settle func(S) time.Duration
	// Summarize completes the status before it is written. It may be nil, as may what follows.
	Summarize func(context.Context, S) error
	// Stored is told that everything has been written.
	Stored func(S)
	// Forget is told of an object that is gone, or another manager's.
	Forget func(client.ObjectKey)
	// Absent is the work for an object that does not exist.
	Absent func(context.Context, client.ObjectKey) (ctrl.Result, error)
}

// Run reconciles the object of the request, which it reads into obj.
func (l Loop[T, S]) Run(ctx context.Context, req ctrl.Request, obj T) (result ctrl.Result, reterr error) {
	switch err := l.Client.Get(ctx, req.NamespacedName, obj); {
	case apierrors.IsNotFound(err):
		l.forget(req.NamespacedName)
		if l.Absent != nil {
			return l.Absent(ctx, req.NamespacedName)
		}
		return ctrl.Result{}, nil
	case err != nil:
		return ctrl.Result{}, err
	case !l.Filter.Passes(obj):
		l.forget(req.NamespacedName)
		return ctrl.Result{}, nil
	}
	if wait := l.Written.StandBack(obj); wait > 0 {
		return ctrl.Result{RequeueAfter: wait}, nil
	}
	p := patch.From(obj)
	p.SharedConditions, p.Repeats = l.SharedConditions, &l.Written.Repeats
	var nothing S
	s, err := l.Gather(ctx, obj, &p)
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

// finish writes what has changed after the work. It returns the errors of both, and when to write what has not been written yet.
func (l Loop[T, S]) finish(ctx context.Context, p *patch.Patch, obj T, s S, failed error) (time.Duration, []error) {
	var without error // what somebody undoes, and the work has gone on without
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
	l.Written.Forget(key)
	if l.Forget != nil {
		l.Forget(key)
	}
}

func (l Loop[T, S]) quiet(obj T, s S) time.Duration {
	if l.Quiet == nil || paused(s.Owner(), obj) || !obj.GetDeletionTimestamp().IsZero() {
		return 0
	}
	return l.Quiet(s)
}

// work chooses what is to be done, nil for nothing, and shows whether the object is paused.
func (l Loop[T, S]) work(obj T, s S) func(context.Context, S) (ctrl.Result, error) {
	if paused(s.Owner(), obj) {
		if l.Paused == nil {
			l.showPaused(obj, true)
		}
		return l.Paused
	}
	l.showPaused(obj, false)
	if !obj.GetDeletionTimestamp().IsZero() {
		return l.Delete
	}
	if l.Finalizer != "" {
		controllerutil.AddFinalizer(obj, l.Finalizer)
	}
	return l.Normal
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

// save writes what has changed, or returns when it is to be looked at again because it has not been written yet.
func (l Loop[T, S]) save(ctx context.Context, p *patch.Patch, obj T, s S, failed bool) (time.Duration, error) {
	idle := l.Paused == nil && paused(s.Owner(), obj) // nothing has been looked at that could be summed up
	if l.Summarize != nil && !idle {
		if err := l.Summarize(ctx, s); err != nil {
			return 0, ignoreGone(obj, err)
		}
	}
	l.V1Beta1.Show(obj)
	if !failed {
		if wait, err := l.settles(p, obj, s); err != nil || wait > 0 {
			l.Written.Note(obj) // Metadata and spec may have been written.
			return wait, err
		}
	}
	return l.apply(ctx, p, obj, s, l.Stored != nil && !idle)
}

// apply writes what has changed. It returns when a condition of what somebody undoes is to go.
func (l Loop[T, S]) apply(ctx context.Context, p *patch.Patch, obj T, s S, tell bool) (again time.Duration, _ error) {
	told := undone(obj)
	err := p.Apply(ctx, l.Client, obj)
	removed := p.Undone
	if err != nil && !errors.As(err, &removed) {
		return 0, ignoreGone(obj, err)
	}
	l.tellUndone(obj, told, removed)
	l.Written.Note(obj)
	if err != nil {
		return 0, err
	}
	if tell {
		l.Stored(s)
	}
	if shown := l.Written.Repeats.Undone(l.Client, obj); shown != nil {
		again = shown.Ends
	}
	return again, nil
}

// undone is what an object has been told to lose.
func undone(obj client.Object) *metav1.Condition {
	o, ok := obj.(status.Object)
	if !ok {
		return nil
	}
	return conditions.Get(o, faultlinev1.MetadataKeptCondition).DeepCopy()
}

// tellUndone tells of what somebody has begun to undo, and each time of that of a kind without conditions.
func (l Loop[T, S]) tellUndone(obj client.Object, before *metav1.Condition, removed *patch.RemovedError) {
	_, shows := obj.(status.Object)
	now := undone(obj)
	switch {
	case l.Recorder == nil:
	case shows && now != nil && (before == nil || before.Message != now.Message):
		l.Recorder.Eventf(obj, nil, corev1.EventTypeWarning, now.Reason, "Write", "%s", now.Message)
	case !shows && removed != nil && removed.News:
		l.Recorder.Eventf(obj, nil, corev1.EventTypeWarning, faultlinev1.ReasonAnnotationsRemoved, "Write", "%s", removed)
	}
}

// settles is how long what has changed is still left unwritten.
func (l Loop[T, S]) settles(p *patch.Patch, obj T, s S) (time.Duration, error) {
	if l.Settle == nil || paused(s.Owner(), obj) || !obj.GetDeletionTimestamp().IsZero() {
		return 0, nil
	}
	wait := l.Settle(s) - time.Since(l.Written.At(obj))
	if wait <= 0 {
		return 0, nil
	}
	only, err := p.ConditionsOnly(obj)
	if !only {
		wait = 0
	}
	return wait, err
}

// sooner is the result, or an earlier one after so long; 0 is never.
func sooner(result ctrl.Result, after time.Duration) ctrl.Result {
	if after > 0 && (result.RequeueAfter <= 0 || after < result.RequeueAfter) {
		result.RequeueAfter = after
	}
	return result
}

// ignoreGone is no error when the object has gone with its finalizer.
func ignoreGone(obj client.Object, err error) error {
	if obj.GetDeletionTimestamp().IsZero() {
		return err
	}
	return client.IgnoreNotFound(err)
}

// Outcome is that of a reconcile whose parts have ended so. What has lost against another's write is no error: it comes again when the
// cache has had time to show that. What is not written because somebody undoes it comes again when it may be.
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

// parts takes errors apart that only list others: one of them may be a conflict, and the others not.
func parts(errs ...error) (all []error) {
	for _, err := range errs {
		var listed []error
		switch list := err.(type) { //nolint:errorlint // an error that wraps a list says more than the list
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

// Again is the result of a reconcile that is repeated after the next pause of its object in the queue, as after an error, but is none. The queue
// counts: a fixed pause would have it forget, and writes that lose each time would never be fewer.
func Again() ctrl.Result {
	return ctrl.Result{Requeue: true} //nolint:staticcheck // An error would be logged, and counted as such, whenever two write at the same time.
}
