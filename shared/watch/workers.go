// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// Concurrency returns options for a controller that reconciles up to n objects concurrently, at least one, with the rate limiter of
// Backoff.
func Concurrency(n int) controller.Options {
	return controller.Options{MaxConcurrentReconciles: max(n, 1), RateLimiter: Backoff[ctrl.Request]()}
}
