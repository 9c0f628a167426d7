// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// maxTimeouts is the number of consecutive timeouts after which the connection counts as dead.
const maxTimeouts = 3

// Staleness collects failures of other calls that question whether vCenter is reachable. The stream's own call may not notice for
// minutes.
type StalenessCheck struct {
	lose     func(error)
	timeouts atomic.Int32

	mu        sync.Mutex
	reported  error
	interrupt func() // ends the stream's running call; nil without one
}

// NewStalenessCheck returns empty Doubts. lose ends the session with a cause.
func NewStalenessCheck(lose func(error)) *StalenessCheck { return &StalenessCheck{lose: lose} }

// Observe decides from the result of a call whether the session still works. A failed connection does not end the session, but
// makes the stream check whether it can resume. A single timeout does not.
func (d *StalenessCheck) Observe(err error) {
	classified := vcerrors.Classify(err)
	if errors.Is(err, context.DeadlineExceeded) {
		if d.timeouts.Add(1) >= maxTimeouts {
			d.timeouts.Store(0)
			d.report(fmt.Errorf("%w: %d consecutive calls timed out", vcerrors.ErrUnreachable, maxTimeouts))
		}
		return
	}
	d.timeouts.Store(0)
	if errors.Is(classified, vcerrors.ErrUnreachable) {
		d.report(classified)
	}
	for _, over := range []error{vcerrors.ErrConnecting, vcerrors.ErrThumbprint, vcerrors.ErrUntrusted} {
		if errors.Is(classified, over) {
			d.lose(classified)
		}
	}
}

// report interrupts the stream, which resumes if possible.
func (d *StalenessCheck) report(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reported = err
	if d.interrupt != nil {
		d.interrupt()
	}
}

// watch sets the function that ends the stream's next call. It returns the pending doubt, if any.
func (d *StalenessCheck) watch(interrupt func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt = interrupt
	return d.reported
}

// clear clears the pending doubt and returns it.
func (d *StalenessCheck) clear() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.reported
	d.reported = nil
	return err
}
