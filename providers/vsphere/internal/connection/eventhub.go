// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection

import (
	"context"
	"sync"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

// EventMapFunc returns the requests for the objects that an event concerns.
type EventMapFunc func(context.Context, vcenter.Event) []reconcile.Request

// EventHub delivers every published event to each of its sources. Equal events that are not handled yet are merged.
type EventHub struct {
	mu          sync.Mutex
	subscribers map[workqueue.TypedInterface[vcenter.Event]]struct{}
}

// NewEventHub returns a hub without subscribers.
func NewEventHub() *EventHub {
	return &EventHub{subscribers: map[workqueue.TypedInterface[vcenter.Event]]struct{}{}}
}

// Publish never blocks. A source misses the events published before it has started, which is harmless: a controller reconciles
// every object once when it starts.
func (h *EventHub) Publish(e vcenter.Event) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for subscriber := range h.subscribers {
		subscriber.Add(e)
	}
}

// mappers is the number of events of a controller that are mapped concurrently. Mapping an outage takes long if it concerns
// many objects; the end of a task, which concerns one, must not wait for it.
const mappers = 4

// Source enqueues the objects that mapFunc returns. mapFunc may run concurrently, though never for equal events, and the order
// of events is not preserved.
func (h *EventHub) Source(mapFunc EventMapFunc) source.Source {
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
	to workqueue.TypedRateLimitingInterface[reconcile.Request], mapFunc EventMapFunc,
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
