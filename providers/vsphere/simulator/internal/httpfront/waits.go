// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpfront

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// cancelInterval is the interval at which the cancellation of a wait is repeated until it ends.
const cancelInterval = 20 * time.Millisecond

// WaitKey identifies a long poll by the keys of its session and property collector.
type WaitKey struct{ Session, Collector string }

// Waits tracks the pending long polls and cancels them.
type Waits struct {
	mu    sync.Mutex
	waits map[WaitKey]*wait
}

type wait struct {
	ctx    context.Context //nolint:containedctx // It crosses vcsim, which passes no context from the request to the collector.
	cancel context.CancelCauseFunc
	done   chan struct{} // closed after the response
}

// add tracks the wait until remove is called.
func (t *Waits) add(ctx context.Context, key WaitKey) (remove func()) {
	w := &wait{done: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits == nil {
		t.waits = map[WaitKey]*wait{}
	}
	t.waits[key] = w
	return func() {
		close(w.done)
		w.cancel(nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waits[key] == w {
			delete(t.waits, key)
		}
	}
}

// Bind cancels a long poll of vcsim's own collector when its client disconnects. vcsim would keep waiting.
func (t *Waits) Bind(ctx *simulator.Context, ref types.ManagedObjectReference) {
	stock, ok := ctx.Session.Get(ref).(*simulator.PropertyCollector)
	if !ok {
		return
	}
	t.mu.Lock()
	w := t.waits[WaitKey{Session: ctx.Session.Key, Collector: ref.Value}]
	t.mu.Unlock()
	if w == nil {
		return
	}
	go func() {
		<-w.ctx.Done()
		for { // vcsim ignores a cancellation that precedes the wait
			select {
			case <-w.done:
				return
			case <-time.After(cancelInterval):
				stock.CancelWaitForUpdates(nil)
			}
		}
	}()
}

// Context returns the context that limits the wait; calls from within the process are not limited.
func (t *Waits) Context(key WaitKey) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.waits[key]; w != nil {
		return w.ctx
	}
	return context.Background()
}

// CancelAll cancels all waits with a cause.
func (t *Waits) CancelAll(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waits {
		w.cancel(cause)
	}
}
