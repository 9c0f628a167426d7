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

// maxTimeouts in a row without a single answer mean that the connection is dead.
const maxTimeouts = 3

// Doubts are what calls have found that makes it questionable whether vCenter can be reached. The stream's own call may not
// notice for minutes.
type Doubts struct {
	lose     func(error)
	timeouts atomic.Int32

	mu        sync.Mutex
	raised    error
	interrupt func() // ends the stream's call under way; nil without one
}

// NewDoubts has none. lose ends the session, for a reason.
func NewDoubts(lose func(error)) *Doubts { return &Doubts{lose: lose} }

// Judge decides from a call's outcome whether the session still works. A connection that failed does not end it, but gives
// reason to try whether the stream can go on. A late answer alone is no such reason.
func (d *Doubts) Judge(err error) {
	classified := vcerrors.Classify(err)
	if errors.Is(err, context.DeadlineExceeded) {
		if d.timeouts.Add(1) >= maxTimeouts {
			d.timeouts.Store(0)
			d.raise(fmt.Errorf("%w: %d calls in a row were not answered", vcerrors.ErrUnreachable, maxTimeouts))
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

// raise has the stream interrupted, and resumed if that is possible.
func (d *Doubts) raise(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raised = err
	if d.interrupt != nil {
		d.interrupt()
	}
}

// watch names what ends the call of the stream that is about to begin. It returns the doubt that there is already.
func (d *Doubts) watch(interrupt func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt = interrupt
	return d.raised
}

// settle forgets a doubt, and returns it.
func (d *Doubts) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.raised
	d.raised = nil
	return err
}
