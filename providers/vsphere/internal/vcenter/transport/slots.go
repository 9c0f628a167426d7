// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package transport

import (
	"context"
	"fmt"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

const (
	// MaxCalls is the maximum number of calls that a session has in flight. vCenter queues calls beyond its own limits anyway.
	MaxCalls = 16
	// Timeout bounds every call except the stream's.
	Timeout = 30 * time.Second
	// SlotTimeout is how long a call waits for a slot. It is short so that a hanging vCenter blocks at most MaxCalls callers for long,
	// as they may have another vCenter to serve.
	SlotTimeout = 5 * time.Second
)

// Slots is a semaphore: its capacity limits the number of holders.
type Slots chan struct{}

// OneSlot returns Slots with a single slot. Its holder may use what it guards.
func OneSlot() Slots { return make(Slots, 1) }

// Acquire takes a slot, waiting briefly, and holds it until release is called.
func (s Slots) Acquire(ctx context.Context) (release func(), err error) {
	release = func() { <-s }
	select {
	case s <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(SlotTimeout)
	defer timer.Stop()
	select {
	case s <- struct{}{}:
		return release, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-timer.C:
		return nil, fmt.Errorf("%w: %d calls are in flight", vcerrors.ErrUnavailable, cap(s))
	}
}

// Run runs calls in a slot and classifies their result, including nil. doing is a gerund for the error.
func (s Slots) Run(ctx context.Context, doing string, classify func(error) error, f func(context.Context) error) error {
	release, err := s.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	defer release()
	bounded, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	err = f(bounded)
	if ctx.Err() != nil {
		return fmt.Errorf("%s: %w", doing, ctx.Err())
	}
	if err = classify(err); err != nil {
		return fmt.Errorf("%s: %w", doing, err)
	}
	return nil
}

// Pause waits for d or until the context ends.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
