// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package events carries what vCenter reports to the controllers that wait for it.
package events

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// MapFunc names the objects that an event concerns.
type MapFunc func(context.Context, vcenter.Event) []reconcile.Request

// Hub hands every published event to every source made from it. Equal events that nobody has handled yet are one.
type Hub struct {
	mu          sync.Mutex
	subscribers map[workqueue.TypedInterface[vcenter.Event]]struct{}
}

// NewHub returns a hub without subscribers.
func NewHub() *Hub {
	return &Hub{subscribers: map[workqueue.TypedInterface[vcenter.Event]]struct{}{}}
}

// Publish never blocks. An event that is published before a source has started is lost to it, which is harmless:
// a controller reconciles every object once when it starts.
func (h *Hub) Publish(e vcenter.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for subscriber := range h.subscribers {
		subscriber.Add(e)
	}
}

// mappers is how many events of a controller are mapped at the same time. To find the objects that an outage concerns takes
// long when they are many; the end of a task, which concerns one, does not wait for that.
const mappers = 4

// Source feeds a controller with the objects that mapFunc names. It may be called several times at once, though never for
// equal events, and in another order than they were published in.
func (h *Hub) Source(mapFunc MapFunc) source.Source {
	return source.Func(func(ctx context.Context, queue workqueue.TypedRateLimitingInterface[reconcile.Request]) error {
		subscriber := workqueue.NewTyped[vcenter.Event]()
		h.mu.Lock()
		h.subscribers[subscriber] = struct{}{}
		h.mu.Unlock()

		go func() {
			<-ctx.Done()
			h.mu.Lock()
			delete(h.subscribers, subscriber)
			h.mu.Unlock()
			subscriber.ShutDown()
		}()
		for range mappers {
			go forward(ctx, subscriber, queue, mapFunc)
		}
		return nil
	})
}

func forward(ctx context.Context, from workqueue.TypedInterface[vcenter.Event],
	to workqueue.TypedRateLimitingInterface[reconcile.Request], mapFunc MapFunc,
) {
	for {
		e, stop := from.Get()
		if stop {
			return
		}
		for _, request := range mapFunc(ctx, e) {
			to.Add(request)
		}
		from.Done(e)
	}
}
