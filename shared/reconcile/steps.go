// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package reconcile

import (
	"context"
	"path"
	"reflect"
	"runtime"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
)

// Step is one phase of a life cycle. It looks, does what is missing, and returns whether the next may follow. All of them run again in
// every reconcile, so that nothing has to be remembered between two. S is what a reconcile knows.
type Step[S any] func(ctx context.Context, scope S) (Progress, error)

// Progress is what a step has led to: Proceed, Wait or Retry.
type Progress time.Duration

const (
	// Wait stops the steps behind until an event of a watched object, or of the infrastructure, ends the wait.
	Wait Progress = 0
	// Proceed lets the next step follow.
	Proceed Progress = -1
)

// Retry stops the steps behind for a while. It is for what no event ends.
func Retry(after time.Duration) Progress { return Progress(max(after, 0)) }

// RunSteps runs steps up to the first that fails or does not proceed, and returns what that has led to. It logs which one that was at level 4.
func RunSteps[S any](ctx context.Context, scope S, steps ...Step[S]) (Progress, error) {
	for _, next := range steps {
		if p, err := next(ctx, scope); err != nil || p != Proceed {
			if log := ctrl.LoggerFrom(ctx).V(4); log.Enabled() {
				log.Info("Step does not proceed", "step", name(next), "requeueAfter", p.After(), "failed", err != nil)
			}
			return p, err
		}
	}
	return Proceed, nil
}

// name is the step's function with its package, such as "vspherevm.(*Reconciler).clone".
func name[S any](step Step[S]) string {
	return strings.TrimSuffix(path.Base(runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name()), "-fm")
}

// After is when the steps are to run again although nothing has happened; 0 means never.
func (p Progress) After() time.Duration { return max(time.Duration(p), 0) }

// Result is After for a reconciler.
func (p Progress) Result() ctrl.Result { return ctrl.Result{RequeueAfter: p.After()} }
