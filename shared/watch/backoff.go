// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// FirstPause is the pause before an object is reconciled again whose reconcile has failed or has lost a write. The watch brings what another
	// has written within milliseconds.
	FirstPause = 20 * time.Millisecond
	// LongestPause bounds the pauses, each of which is twice as long as the one before: what an error was about may send no event when it is over.
	LongestPause = 30 * time.Second
	// spread is the part of a pause that chance may take away, so that objects that have failed at the same time do not return at the same time.
	spread = 4
)

// Backoff returns the rate limiter of a controller's queue: a growing pause for each object, forgotten when a reconcile succeeds, as it does for an
// object that is gone.
func Backoff[T comparable]() workqueue.TypedRateLimiter[T] {
	return backoff[T]{workqueue.NewTypedItemExponentialFailureRateLimiter[T](FirstPause, LongestPause)}
}

type backoff[T comparable] struct {
	workqueue.TypedRateLimiter[T]
}

// When returns the next pause of an item.
func (b backoff[T]) When(item T) time.Duration {
	pause := b.TypedRateLimiter.When(item)
	return pause - rand.N(pause/spread) //nolint:gosec // nothing is kept secret by it
}
