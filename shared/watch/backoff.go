// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"math/rand/v2"
	"time"

	"k8s.io/client-go/util/workqueue"
)

const (
	// FirstPause is the delay before an object is reconciled again after a failure or a conflict. The watch delivers other writes
	// within milliseconds.
	FirstPause = 20 * time.Millisecond
	// LongestPause limits the delays, which double each time. The end of an error's cause may not send
	// an event.
	LongestPause = 30 * time.Second
	// spread is the divisor for jitter: up to 1/spread of a delay is subtracted at random, so that objects that failed at the
	// same time are not retried at the same time.
	spread = 4
)

// Backoff returns the rate limiter of a controller's queue. Delays grow per object and are reset when a reconcile succeeds, which
// includes that of a deleted object.
func Backoff[T comparable]() workqueue.TypedRateLimiter[T] {
	return backoff[T]{workqueue.NewTypedItemExponentialFailureRateLimiter[T](FirstPause, LongestPause)}
}

type backoff[T comparable] struct {
	workqueue.TypedRateLimiter[T]
}

// When returns the next delay of an item.
func (b backoff[T]) When(item T) time.Duration {
	pause := b.TypedRateLimiter.When(item)
	return pause - rand.N(pause/spread) //nolint:gosec // nothing is kept secret by it
}
