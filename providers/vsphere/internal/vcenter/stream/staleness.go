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

// StalenessCheck collects failures of other calls that question whether vCenter is reachable. The stream's own call may not notice for
// minutes.
type StalenessCheck struct {
	lose     func(error)
	timeouts atomic.Int32

	mu        sync.Mutex
	reported  error
	interrupt func() // ends the stream's running call; nil without one
}

// NewStalenessCheck returns a StalenessCheck without failures. lose ends the session with a cause.
func NewStalenessCheck(lose func(error)) *StalenessCheck { return &StalenessCheck{lose: lose} }

// Observe decides from the result of a call whether the session still works. A failed connection does not end the session, but
// makes the stream check whether it can resume. A single timeout does not.
func (c *StalenessCheck) Observe(err error) {
	classified := vcerrors.Classify(err)
	if errors.Is(err, context.DeadlineExceeded) {
		if c.timeouts.Add(1) >= maxTimeouts {
			c.timeouts.Store(0)
			c.report(fmt.Errorf("%w: %d consecutive calls timed out", vcerrors.ErrUnreachable, maxTimeouts))
		}
		return
	}
	c.timeouts.Store(0)
	if errors.Is(classified, vcerrors.ErrUnreachable) {
		c.report(classified)
	}
	for _, over := range []error{vcerrors.ErrConnecting, vcerrors.ErrThumbprint, vcerrors.ErrUntrusted} {
		if errors.Is(classified, over) {
			c.lose(classified)
		}
	}
}

// report interrupts the stream, which resumes if possible.
func (c *StalenessCheck) report(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reported = err
	if c.interrupt != nil {
		c.interrupt()
	}
}

// watch sets the function that ends the stream's next call. It returns the reported error, if any.
func (c *StalenessCheck) watch(interrupt func()) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.interrupt = interrupt
	return c.reported
}

// clear clears the reported error and returns it.
func (c *StalenessCheck) clear() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	err := c.reported
	c.reported = nil
	return err
}
