// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package connection_test

import (
	"context"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
)

const timeout = time.Minute

type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

func newQueue(t *testing.T) queue {
	t.Helper()
	q := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(q.ShutDown)
	return q
}

// byName maps an event to the object with the name of its virtual machine.
func byName(_ context.Context, e vcenter.Event) []reconcile.Request {
	return []reconcile.Request{named(e.Name)}
}

func named(name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Name: name}}
}

func changed(name string) vcenter.Event { return vcenter.Event{Kind: vcenter.VMChanged, Name: name} }

// next waits for the next request in the queue.
func next(t *testing.T, q queue) string {
	t.Helper()
	got := make(chan string, 1)
	go func() {
		request, _ := q.Get()
		q.Done(request)
		got <- request.Name
	}()
	select {
	case name := <-got:
		return name
	case <-time.After(timeout):
		t.Fatal("no request came")
		return ""
	}
}

func TestEveryControllerGetsEveryEvent(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := connection.NewEventHub()
	first, second := newQueue(t), newQueue(t)
	g.Expect(hub.Source(byName).Start(t.Context(), first)).To(Succeed())
	g.Expect(hub.Source(byName).Start(t.Context(), second)).To(Succeed())
	hub.Publish(changed("a"))
	g.Expect(next(t, first)).To(Equal("a"))
	g.Expect(next(t, second)).To(Equal("a"))
}

// An event that is slow to map must block neither the stream, nor other controllers, nor other events of the same controller.
// Equal events that arrive meanwhile are handled once more.
func TestSlowMapFuncDoesNotBlockOthers(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := connection.NewEventHub()
	busy, goOn := make(chan struct{}, 100), make(chan struct{})
	slow := func(ctx context.Context, e vcenter.Event) []reconcile.Request {
		if e.Name == "slow" {
			busy <- struct{}{}
			<-goOn
		}
		return byName(ctx, e)
	}
	own, other := newQueue(t), newQueue(t)
	g.Expect(hub.Source(slow).Start(t.Context(), own)).To(Succeed())
	g.Expect(hub.Source(byName).Start(t.Context(), other)).To(Succeed())

	hub.Publish(changed("slow"))
	<-busy
	for range 1000 {
		hub.Publish(changed("slow")) // would block if it waited for the first
	}
	hub.Publish(changed("quick"))
	g.Expect(next(t, own)).To(Equal("quick"))
	g.Eventually(func() string { return next(t, other) }, timeout).Should(Equal("quick"))
	g.Expect(busy).To(BeEmpty(), "an event is not mapped twice at once")
	close(goOn)
	g.Eventually(busy, timeout).Should(Receive(), "what was looked up may be old")
	hub.Publish(changed("last"))
	g.Eventually(func() string { return next(t, own) }, timeout).Should(Equal("last"))
	g.Expect(busy).To(BeEmpty(), "a thousand equal events were one")
}

// An event that arrives while an equal one is being handled is not lost, because the handler may have read older data.
func TestEventDuringHandlingIsRequeued(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := connection.NewEventHub()
	busy, goOn := make(chan struct{}, 2), make(chan struct{})
	g.Expect(hub.Source(func(context.Context, vcenter.Event) []reconcile.Request {
		busy <- struct{}{}
		<-goOn
		return nil
	}).Start(t.Context(), newQueue(t))).To(Succeed())
	hub.Publish(changed("a"))
	<-busy
	hub.Publish(changed("a"))
	close(goOn)
	g.Eventually(busy, timeout).Should(Receive())
}

func TestLateControllerMissesEarlierEvents(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := connection.NewEventHub()
	hub.Publish(changed("before"))
	late := newQueue(t)
	g.Expect(hub.Source(byName).Start(t.Context(), late)).To(Succeed())
	hub.Publish(changed("after"))
	g.Expect(next(t, late)).To(Equal("after"))
}

func TestStoppedControllerGetsNothing(t *testing.T) {
	t.Parallel()
	g := NewWithT(t)
	hub := connection.NewEventHub()
	ctx, cancel := context.WithCancel(t.Context())
	stopped, running := newQueue(t), newQueue(t)
	g.Expect(hub.Source(byName).Start(ctx, stopped)).To(Succeed())
	g.Expect(hub.Source(byName).Start(t.Context(), running)).To(Succeed())
	hub.Publish(changed("before"))
	g.Expect(next(t, stopped)).To(Equal("before"))
	g.Expect(next(t, running)).To(Equal("before"))
	cancel()
	// The subscription ends shortly after the context: publish until an event is no longer received.
	g.Eventually(func() int {
		hub.Publish(changed("after"))
		g.Expect(next(t, running)).To(Equal("after"))
		left := stopped.Len()
		for stopped.Len() > 0 {
			next(t, stopped)
		}
		return left
	}, timeout).Should(BeZero())
}
