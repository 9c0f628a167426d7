// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package stream

import (
	"context"
	"errors"

	"github.com/vmware/govmomi/fault"
	"github.com/vmware/govmomi/vim25/types"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// interruption ended a call of the stream that vCenter has not answered. It says nothing of the session, nor of what the
// stream is to report: asked for with the version of the last answer, that still comes.
type interruption struct{ error }

func (i *interruption) Unwrap() error { return i.error }

// Interrupted reports whether the stream has only been interrupted: Resume may go on with it.
func Interrupted(err error) bool {
	var interrupted *interruption
	return errors.As(err, &interrupted)
}

// streamError returns why the stream cannot go on: an interruption, or what ends the session.
func streamError(err error) error {
	if errors.Is(vcerrors.Classify(err), vcerrors.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		return &interruption{vcerrors.OfSession(err)}
	}
	return vcerrors.OfSession(err)
}

// Resume has the stream go on where it was interrupted. It returns when the index is up to date.
func (s *Stream) Resume(ctx context.Context) error {
	_ = s.doubts.settle() // answered by what follows
	if !s.whole {
		return s.reopen(ctx)
	}
	for more := true; more; {
		set, err := s.wait(ctx, 0, transport.Timeout)
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
			s.tell(s.apply(set))
		}
	}
	return nil
}

func (s *Stream) reopen(ctx context.Context) error {
	if err := s.open(ctx, s.tell); err != nil {
		return streamError(err)
	}
	return nil
}
