// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package front

import (
	"context"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25/types"
)

// askAgain is how soon a wait is cancelled again that has not ended.
const askAgain = 20 * time.Millisecond

// WaitKey tells the long polls apart: the session and its property collector, by their keys.
type WaitKey struct{ Session, Collector string }

// Waits knows the long polls under way and ends them.
type Waits struct {
	mu    sync.Mutex
	waits map[WaitKey]*wait
}

type wait struct {
	ctx    context.Context //nolint:containedctx // It crosses vcsim, which passes no context from the request to the collector.
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when the call has been answered
}

// add makes the wait known until the returned function is called.
func (t *Waits) add(ctx context.Context, key WaitKey) (remove func()) {
	w := &wait{over: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits == nil {
		t.waits = map[WaitKey]*wait{}
	}
	t.waits[key] = w
	return func() {
		close(w.over)
		w.cancel(nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waits[key] == w {
			delete(t.waits, key)
		}
	}
}

// Bind ends a long poll of vcsim's own collector with its client's connection. vcsim would go on waiting.
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
		for { // vcsim has no memory of a cancellation that came before the wait
			select {
			case <-w.over:
				return
			case <-time.After(askAgain):
				stock.CancelWaitForUpdates(nil)
			}
		}
	}()
}

// Context returns what bounds the wait; calls from inside the process have no bound.
func (t *Waits) Context(key WaitKey) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.waits[key]; w != nil {
		return w.ctx
	}
	return context.Background()
}

// CancelAll ends all with a cause.
func (t *Waits) CancelAll(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waits {
		w.cancel(cause)
	}
}
