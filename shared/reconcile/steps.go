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

// Step is one phase of a life cycle. It checks the state, does what is missing, and returns whether the next step may run. All
// steps run in every reconcile, so no state has to be kept between two reconciles. S is the scope of the reconcile.
type Step[S any] func(ctx context.Context, scope S) (Progress, error)

// Progress is the result of a step: Proceed, Wait or Retry.
type Progress time.Duration

const (
	// Wait stops the following steps until an event of a watched object, or of the infrastructure, triggers another reconcile.
	Wait Progress = 0
	// Proceed runs the next step.
	Proceed Progress = -1
)

// Retry stops the following steps and requeues the object after the given time. Use it when no event ends the wait.
func Retry(after time.Duration) Progress { return Progress(max(after, 0)) }

// RunSteps runs steps up to the first that fails or does not return Proceed, and returns its result. It logs that step at level
// 4.
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

// name returns the step's function with its package, such as "vspherevm.(*Reconciler).clone".
func name[S any](step Step[S]) string {
	return strings.TrimSuffix(path.Base(runtime.FuncForPC(reflect.ValueOf(step).Pointer()).Name()), "-fm")
}

// After returns when to run the steps again although no event arrived; 0 means never.
func (p Progress) After() time.Duration { return max(time.Duration(p), 0) }

// Result returns After as a ctrl.Result.
func (p Progress) Result() ctrl.Result { return ctrl.Result{RequeueAfter: p.After()} }
