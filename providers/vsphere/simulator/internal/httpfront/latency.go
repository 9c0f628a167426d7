// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package httpfront

import (
	"context"
	"sync"
	"time"
)

// latency is the delay of every response.
type latency struct {
	mu      sync.Mutex
	delay   time.Duration
	changed chan struct{}
}

// set takes effect immediately, also for pending responses.
func (l *latency) set(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
	if l.changed != nil {
		close(l.changed)
	}
	l.changed = make(chan struct{})
}

func (l *latency) get() (time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay, l.changed
}

func (l *latency) wait(ctx context.Context) error {
	start := time.Now()
	for {
		d, changed := l.get()
		left := d - time.Since(start)
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		case <-changed:
			timer.Stop()
		}
	}
}
