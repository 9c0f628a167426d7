// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Workers lets a controller reconcile n objects at the same time, at least one, each with growing pauses while its reconcile fails or loses writes.
func Workers(n int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: max(n, 1), RateLimiter: Backoff[ctrl.Request]()}
}
