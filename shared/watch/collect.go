// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"context"
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// collectPeriod is how long Collect collects changes.
const collectPeriod = time.Second

// Collect returns an event handler that enqueues the requests that an object maps to, before and after an update, with a delay of
// one second. Events within that second result in one request: when a thousand machines are placed within seconds, their cluster
// is reconciled a few times, not a thousand times.
func Collect(concerned handler.MapFunc) handler.EventHandler {
	return CollectFor(collectPeriod, concerned)
}

// CollectFor is Collect with another delay.
func CollectFor(period time.Duration, concerned handler.MapFunc) handler.EventHandler {
	type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]
	add := func(ctx context.Context, o client.Object, q queue) {
		for _, request := range concerned(ctx, o) {
			q.AddAfter(request, period)
		}
	}
	return handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { add(ctx, e.Object, q) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) {
			add(ctx, e.ObjectOld, q)
			add(ctx, e.ObjectNew, q)
		},
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { add(ctx, e.Object, q) },
	}
}
