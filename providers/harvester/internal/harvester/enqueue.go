// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// queue is the workqueue of a controller.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// enqueuer adds requests to the workqueues of the controllers. The zero value has none.
type enqueuer struct {
	mu     sync.Mutex
	queues map[Kind][]queue
}

// Source returns a source that enqueues askers of a kind. Requests before the controller has started are lost, which is harmless: it
// reconciles every object once when it starts.
func (c *Connections) Source(kind Kind) source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		c.enqueuer.mu.Lock()
		defer c.enqueuer.mu.Unlock()
		if c.enqueuer.queues == nil {
			c.enqueuer.queues = map[Kind][]queue{}
		}
		c.enqueuer.queues[kind] = append(c.enqueuer.queues[kind], q)
		return nil
	})
}

func (w *enqueuer) enqueueAll(all map[Requester]struct{}) {
	for who := range all {
		w.enqueue(who.Kind, who.Key)
	}
}

func (w *enqueuer) enqueue(kind Kind, key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queues[kind] {
		q.Add(reconcile.Request{NamespacedName: key})
	}
}
