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

// wakes adds requests to the workqueues of the controllers. The zero value has none.
type wakes struct {
	mu     sync.Mutex
	queues map[Kind][]queue
}

// Source returns a source that enqueues askers of a kind. Requests before the controller has started are lost, which is harmless: it
// reconciles every object once when it starts.
func (c *Connections) Source(kind Kind) source.Source {
	return source.Func(func(_ context.Context, q queue) error {
		c.wakes.mu.Lock()
		defer c.wakes.mu.Unlock()
		if c.wakes.queues == nil {
			c.wakes.queues = map[Kind][]queue{}
		}
		c.wakes.queues[kind] = append(c.wakes.queues[kind], q)
		return nil
	})
}

func (w *wakes) wake(all map[Asker]struct{}) {
	for who := range all {
		w.one(who.Kind, who.Key)
	}
}

func (w *wakes) one(kind Kind, key client.ObjectKey) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, q := range w.queues[kind] {
		q.Add(reconcile.Request{NamespacedName: key})
	}
}
