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

// interruption is the error of a stream call without a response from vCenter. It means nothing for the session, and no updates
// are lost: they are returned to a call with the version of the last response.
type interruption struct{ error }

func (i *interruption) Unwrap() error { return i.error }

// Interrupted reports whether the stream was only interrupted, so that Resume may continue it.
func Interrupted(err error) bool {
	var interrupted *interruption
	return errors.As(err, &interrupted)
}

// streamError returns why the stream cannot continue: an interruption, or an error that ends the session.
func streamError(err error) error {
	if errors.Is(vcerrors.Classify(err), vcerrors.ErrUnreachable) || errors.Is(err, context.DeadlineExceeded) {
		return &interruption{vcerrors.OfSession(err)}
	}
	return vcerrors.OfSession(err)
}

// Resume continues the stream after an interruption. It returns when the index is up to date.
func (s *Stream) Resume(ctx context.Context) error {
	_ = s.staleness.clear() // answered by the calls below
	if !s.whole {
		return s.reopen(ctx)
	}
	for more := true; more; {
		set, err := s.wait(ctx, 0, transport.Timeout)
		if fault.Is(err, &types.InvalidCollectorVersion{}) {
			return s.reopen(ctx) // it was interrupted for too long
		}
		if fault.Is(err, &types.RequestCanceled{}) {
			continue // meant for the interrupted call
		}
		if err != nil {
			return streamError(err)
		}
		if more = set != nil && isTrue(set.Truncated); set != nil {
			s.notify(s.apply(set))
		}
	}
	return nil
}

func (s *Stream) reopen(ctx context.Context) error {
	if err := s.open(ctx, s.notify); err != nil {
		return streamError(err)
	}
	return nil
}
