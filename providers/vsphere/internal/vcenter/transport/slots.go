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
	// Most is how many calls one session has in flight. vCenter queues what is beyond its own limits anyway.
	Most = 16
	// Timeout bounds a call that is not the stream's.
	Timeout = 30 * time.Second
	// Patience is how long a call waits for others. It is short so that a hanging vCenter holds no more than Most of its
	// callers for long, who may have another vCenter to serve.
	Patience = 5 * time.Second
)

// Slots let as many through at a time as they have room for.
type Slots chan struct{}

// OneSlot has a single slot: who holds it may use what it guards.
func OneSlot() Slots { return make(Slots, 1) }

// Acquire takes a slot, for which it waits briefly, until release is called.
func (s Slots) Acquire(ctx context.Context) (release func(), err error) {
	release = func() { <-s }
	select {
	case s <- struct{}{}:
		return release, nil
	default:
	}
	timer := time.NewTimer(Patience)
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

// Run makes calls in a slot, and has what came of them classified, errors or none. doing is a gerund for the error.
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

// Pause lets time go by, unless the context ends before.
func Pause(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}
