// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"sync"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/calls"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/internal/vcerrors"
)

// interruption ended a call of the stream that vCenter has not answered. It says nothing of the session, nor of what the
// stream is to report: asked for with the version of the last answer, that still comes.
type interruption struct{ error }

func (i *interruption) Unwrap() error { return i.error }

// streamError returns why the stream cannot go on: an interruption, or what ends the session.
func streamError(err error) error {
	if errors.Is(vcerrors.Classify(err), vcerrors.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		return &interruption{vcerrors.OfSession(err)}
	}
	return vcerrors.OfSession(err)
}

// doubts is what calls have found that makes it questionable whether vCenter can be reached. The stream's own call may not
// notice for minutes.
type doubts struct {
	mu        sync.Mutex
	raised    error
	interrupt func() // ends the stream's call under way; nil without one
}

// raise has the stream interrupted, and resumed if that is possible.
func (d *doubts) raise(err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.raised = err
	if d.interrupt != nil {
		d.interrupt()
	}
}

// watch names what ends the call of the stream that is about to begin. It returns the doubt that there is already.
func (d *doubts) watch(interrupt func()) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.interrupt = interrupt
	return d.raised
}

// settle forgets a doubt, and returns it.
func (d *doubts) settle() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	err := d.raised
	d.raised = nil
	return err
}

// resume has the stream go on where it was interrupted. It returns when the index is up to date.
func (s *Session) resume(ctx context.Context) error {
	_ = s.doubts.settle() // answered by what follows
	if !s.whole {
		return s.reopen(ctx)
	}
	for more := true; more; {
		set, err := s.wait(ctx, 0, calls.Timeout)
		if fault.Is(err, &types.InvalidCollectorVersion{}) {
			return s.reopen(ctx) // it has been away for too long
		}
		if fault.Is(err, &types.RequestCanceled{}) {
			continue // that was meant for the call that was interrupted
		}
		if err != nil {
			return streamError(err)
		}
		if more = set != nil && isTrue(set.Truncated); set != nil {
			s.report(s.index.Apply(set))
		}
	}
	return nil
}

func (s *Session) reopen(ctx context.Context) error {
	if err := s.openStream(ctx, s.report); err != nil {
		return streamError(err)
	}
	return nil
}
