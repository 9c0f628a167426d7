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

// Doubts collects failures of other calls that question whether vCenter is reachable. The stream's own call may not notice for
// minutes.
type Doubts struct {
	lose     func(error)
	timeouts atomic.Int32

	mu        sync.Mutex
	raised    error
	interrupt func() // ends the stream's running call; nil without one
}

// NewDoubts returns empty Doubts. lose ends the session with a cause.
func NewDoubts(lose func(error)) *Doubts { return &Doubts{lose: lose} }

// Judge decides from the result of a call whether the session still works. A failed connection does not end the session, but
// makes the stream check whether it can resume. A single timeout does not.
func (d *Doubts) Judge(err error) {
	classified := vcerrors.Classify(err)
	if errors.Is(err, context.DeadlineExceeded) {
		if d.timeouts.Add(1) >= maxTimeouts {
			d.timeouts.Store(0)
			d.raise(fmt.Errorf("%w: %d consecutive calls timed out", vcerrors.ErrUnreachable, maxTimeouts))
		}
		return
	}
	d.timeouts.Store(0)
	if errors.Is(classified, vcerrors.ErrUnreachable) {
		d.raise(classified)
	}
	for _, over := range []error{vcerrors.ErrConnecting, vcerrors.ErrThumbprint, vcerrors.ErrUntrusted} {
		if errors.Is(classified, over) {
			d.lose(classified)
		}
	}
}

// raise interrupts the stream, which resumes if possible.
func (d *Doubts) raise(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raised = err
	if d.interrupt != nil {
		d.interrupt()
	}
}

// watch sets the function that ends the stream's next call. It returns the pending doubt, if any.
func (d *Doubts) watch(interrupt func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt = interrupt
	return d.raised
}

// settle clears the pending doubt and returns it.
func (d *Doubts) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.raised
	d.raised = nil
	return err
}
