// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vcenter

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/stream"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

const (
	minBackoff = time.Second
	maxBackoff = time.Minute
	// stableAfter is how long a session must have lived for the next login to be tried without delay.
	stableAfter = 30 * time.Second
)

// entry keeps one endpoint connected: it logs in, follows the inventory, and starts over when the session is lost.
type entry struct {
	ep   Endpoint
	opts *Options
	stop context.CancelCauseFunc
	life context.Context //nolint:containedctx // the entry's own life, ended by stop
	done chan struct{}   // closed when run has returned

	lastUsed  time.Time           // guarded by Pool.mu
	tenants   map[string]struct{} // tenants that requested it, guarded by Pool.mu
	requested chan struct{}       // full if the session was requested since the last attempt failed
	reported  map[string]struct{} // errors for which SessionDown was emitted in this outage; used by run only

	mu      sync.Mutex
	session *Session // nil: see err
	err     error
}

func newEntry(ep Endpoint, opts *Options) *entry {
	e := &entry{ep: ep, opts: opts, done: make(chan struct{}), requested: make(chan struct{}, 1), tenants: map[string]struct{}{}, err: fmt.Errorf("%w %s", vcerrors.ErrConnecting, ep.Server)}
	e.life, e.stop = context.WithCancelCause(context.Background())
	return e
}

func (e *entry) current() (*Session, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.session, e.err
}

// request records that the session was requested.
func (e *entry) request() {
	select {
	case e.requested <- struct{}{}:
	default:
	}
}

// refused reports whether vCenter rejected the account in the last attempt.
func (e *entry) refused() bool {
	_, err := e.current()
	return errors.Is(err, vcerrors.ErrUnauthorized)
}

func (e *entry) set(s *Session, err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.session, e.err = s, err
}

func (e *entry) emit(kind EventKind) {
	e.opts.OnEvent(Event{Server: e.ep.Server, Account: e.ep.Account(), Kind: kind})
}

func (e *entry) up() {
	e.reported = nil
	e.emit(SessionUp)
}

// down emits SessionDown, which enqueues all objects that use the account, unless it was emitted for the same error in this
// outage. The errors of successive attempts can differ.
func (e *entry) down(err error) {
	if _, reported := e.reported[err.Error()]; reported {
		return
	}
	if e.reported == nil {
		e.reported = map[string]struct{}{}
	}
	e.reported[err.Error()] = struct{}{}
	e.emit(SessionDown)
}

func (e *entry) run() {
	defer close(e.done)
	var delay backoff
	for e.life.Err() == nil {
		began := time.Now()
		err := e.serve()
		if e.life.Err() != nil {
			e.set(nil, fmt.Errorf("%w: %w", vcerrors.ErrConnecting, context.Cause(e.life)))
			return
		}
		e.failed(err)
		if time.Since(began) > stableAfter {
			delay = backoff{}
		}
		transport.Pause(e.life, delay.next(err))
		if errors.Is(err, vcerrors.ErrUnauthorized) {
			e.awaitUser()
		}
	}
}

// awaitUser blocks until the session is requested again after vCenter rejected the account. After a password change no object
// uses the old password any more; retrying it would make vCenter lock the account.
func (e *entry) awaitUser() {
	select {
	case <-e.requested:
	case <-e.life.Done():
	}
}

// serve runs one session and returns why it ended.
func (e *entry) serve() error {
	ctx, lose := context.WithCancelCause(e.life)
	defer lose(nil)
	s, err := e.opts.dial(ctx, e.ep, e.opts, lose)
	if err != nil {
		return err
	}
	e.opts.Log.Info("vCenter session started", "server", e.ep.Server, "user", e.ep.Username, "version", s.Version())
	var delay backoff
	for err == nil {
		e.set(s, nil)
		e.up()
		began := time.Now()
		err = s.stream.Follow(ctx)
		if time.Since(began) > stableAfter {
			delay = backoff{}
		}
		err = e.resume(ctx, s, err, &delay)
	}
	e.set(nil, fmt.Errorf("%w %s again: %w", vcerrors.ErrConnecting, e.ep.Server, err))
	s.close(ctx, err)
	return err
}

// resume continues a session after an interruption, or returns why it cannot be continued: only vCenter can report that a
// session has ended. A connection reset fails a single call. SessionUp enqueues the objects whose calls failed, as after a
// longer outage, so repeated interruptions need not be repaired immediately.
func (e *entry) resume(ctx context.Context, s *Session, err error, delay *backoff) error {
	for {
		if !stream.Interrupted(err) {
			return err
		}
		if wait := delay.next(err); wait > 0 {
			e.failed(err)
			transport.Pause(ctx, wait)
		}
		err = s.stream.Resume(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
	}
}

// failed records why there is no session.
func (e *entry) failed(err error) {
	err = vcerrors.Redact(fmt.Errorf("vCenter %s: %w", e.ep.Server, err), e.ep.Password)
	select {
	case <-e.requested: // requested before it failed
	default:
	}
	e.set(nil, err)
	e.opts.Log.Info("vCenter session failed", "server", e.ep.Server, "user", e.ep.Username, "error", err)
	e.down(err)
}

// backoff returns the delays between attempts: none after the first failure, then increasing ones.
type backoff struct{ last time.Duration }

func (b *backoff) next(err error) time.Duration {
	if errors.Is(err, vcerrors.ErrUnauthorized) {
		return maxBackoff // vCenter locks an account after a few wrong passwords in a short time
	}
	wait := b.last
	b.last = min(max(2*b.last, minBackoff), maxBackoff)
	return wait + rand.N(wait/5+1) //nolint:gosec // spreads logins, protects nothing
}
