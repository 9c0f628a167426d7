// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/controller"
)

// longestBackoff bounds the pause after an error, which the queue doubles from firstBackoff: what such an error was about
// may send no event when it is over.
const (
	firstBackoff   = 5 * time.Millisecond
	longestBackoff = time.Minute
)

// Workers lets a controller reconcile n objects at the same time, at least one.
func Workers(n int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: max(n, 1),
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[ctrl.Request](firstBackoff, longestBackoff),
	}
}
