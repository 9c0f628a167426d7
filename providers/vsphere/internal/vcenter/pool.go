// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter is the only code that talks to vCenter.
//
// A Pool keeps one session per server and account. A session follows the inventory through one property-collector stream into
// an index, so that reads cost no call, and reports changes as events. Operations on vCenter start a task and return its
// reference: this package never waits for a task on behalf of a caller.
//
// References are strings: "task-12" for a task, "VirtualMachine:vm-7" (type and value) for everything else.
package vcenter

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/inventory"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/transport"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter/vcerrors"
)

// Endpoint is a vCenter and an account on it.
type Endpoint struct {
	Server     string // host[:port], or https://host[:port] with or without /sdk
	Username   string
	Password   string
	Thumbprint string // SHA-1 or SHA-256 of the certificate in hex, colons allowed; used only if no authority vouches for the certificate
	// Tenant identifies the requester, whose sessions are counted; "" has no limit. It does not distinguish sessions.
	Tenant string
}

// Account returns an identifier of the account on the server that does not depend on how the certificate is verified. It
// reveals neither user name nor password, and is stable only for the life of the process.
func (ep Endpoint) Account() string {
	return sum(ep.Server, ep.Username, ep.Password)
}

// session returns an identifier of the session's server, account and thumbprint, so that a session is never shared with an
// endpoint that trusts the certificate for another reason.
func (ep Endpoint) session() string {
	return sum(ep.Server, ep.Username, ep.Password, vcerrors.PlainThumbprint(ep.Thumbprint))
}

func sum(parts ...string) string {
	mac := hmac.New(sha256.New, accountSalt())
	for _, part := range parts {
		_, _ = fmt.Fprintf(mac, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// accountSalt prevents guessing passwords from the values that Account returns.
var accountSalt = sync.OnceValue(func() []byte { return []byte(rand.Text()) }) //nolint:gochecknoglobals // read only

// Options configure a Pool.
type Options struct {
	// OnEvent receives the events of all servers. It is called from the streams and must not block.
	OnEvent func(Event)
	// OnCall is called after every call with the SOAP method as on the wire, or "GET /rest/..." without identifiers.
	OnCall func(server, method string, d time.Duration, err error)
	// OnServerGone is called when the pool has no entry for a server any more.
	OnServerGone func(server string)
	// Idle is how long a session is kept without being requested. The default is one hour.
	Idle time.Duration
	// UserAgent appears in vCenter's list of sessions.
	UserAgent string
	// Authorities verify the certificates of vCenters; nil means the system's.
	Authorities *x509.CertPool
	// SkipVerify accepts every certificate of a vCenter without a thumbprint.
	SkipVerify bool
	// MaxAnswer limits the size of one response in bytes; 0 means the default of package bounded.
	MaxAnswer int64
	// KeepNotes returns the part of a virtual machine's notes to keep in VM.Annotation. If nil, the notes of every virtual
	// machine on the vCenter are kept in full.
	KeepNotes func(notes string) string
	Log       *slog.Logger

	locks    *clusterLocks     // shared by all sessions
	lines    *transport.Lines  // shared by all sessions
	vcenters *inventory.Shared // shared by all sessions

	dial func(ctx context.Context, ep Endpoint, opts *Options, lose context.CancelCauseFunc) (*Session, error)
}

// EventKind is the kind of an Event.
type EventKind string

// Kinds of events.
const (
	// VMChanged reports that a virtual machine was created, changed or deleted.
	VMChanged EventKind = "VMChanged"
	// TaskDone reports that a task succeeded, failed, or is no longer followed.
	TaskDone EventKind = "TaskDone"
	// InventoryChanged reports, at most a few times a second, a change to anything other than a plain virtual machine:
	// clusters, groups, rules, hosts, pools, folders, datastores, networks, templates.
	InventoryChanged EventKind = "InventoryChanged"
	// SessionUp reports that a session is usable, after the first login and after every loss.
	SessionUp EventKind = "SessionUp"
	// SessionDown reports that a session was lost, or that a login failed with an error that was not reported before in this
	// outage. The pool keeps reconnecting.
	SessionDown EventKind = "SessionDown"
)

// Event is comparable, so that equal events can be merged.
type Event struct {
	Server       string // as in Endpoint
	Account      string // account whose session is up or down, see Endpoint.Account; "" for events that concern every account
	Kind         EventKind
	InstanceUUID string // of the virtual machine that changed, or that the task worked on or created
	BiosUUID     string // of the same virtual machine
	VM           string // reference of the same virtual machine
	Task         string
	Name         string // of the same virtual machine
}

// Pool keeps the sessions. Its methods are safe for concurrent use.
type Pool struct {
	opts Options

	mu      sync.Mutex        // guards the map and the entries' lastUsed; never held across a call
	entries map[string]*entry // by Endpoint.session
	closed  bool
}

// NewPool returns an empty pool. The caller must Close it to log out.
func NewPool(opts Options) *Pool {
	if opts.OnEvent == nil {
		opts.OnEvent = func(Event) {}
	}
	if opts.OnCall == nil {
		opts.OnCall = func(string, string, time.Duration, error) {}
	}
	if opts.OnServerGone == nil {
		opts.OnServerGone = func(string) {}
	}
	if opts.dial == nil {
		opts.dial = dial
	}
	if opts.Idle <= 0 {
		opts.Idle = time.Hour
	}
	if opts.UserAgent == "" {
		opts.UserAgent = "faultline"
	}
	if opts.Log == nil {
		opts.Log = slog.New(slog.DiscardHandler)
	}
	opts.locks, opts.lines, opts.vcenters = &clusterLocks{}, &transport.Lines{}, &inventory.Shared{Keep: opts.KeepNotes}
	return &Pool{opts: opts, entries: map[string]*entry{}}
}

// Session returns the live session of an endpoint and never waits for the network. Without a live session it starts to connect, and
// returns ErrConnecting until the inventory has been read, or the classified error of the last attempt (ErrUnreachable,
// ErrUnauthorized, ErrThumbprint, ErrUntrusted) while it retries. A SessionUp event follows. Call it for each use: a lost
// session is replaced by a new one. An account that vCenter rejected is retried after a minute at the earliest, and only if its
// session is requested in the meantime.
func (p *Pool) Session(ep Endpoint) (*Session, error) {
	if ep.Server == "" {
		return nil, fmt.Errorf("%w: no vCenter server is specified", vcerrors.ErrInvalid)
	}
	id := ep.session()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("%w: the session pool is closed", vcerrors.ErrUnreachable)
	}
	e, ok := p.entries[id]
	if !ok {
		if err := p.checkLimit(ep); err != nil {
			return nil, err
		}
		e = newEntry(ep, &p.opts)
		p.entries[id] = e
		go e.run()
		go p.expire(id, e)
	} else {
		e.request() // the first request triggers an attempt anyway
	}
	e.lastUsed = time.Now()
	e.tenants[ep.Tenant] = struct{}{}
	return e.current()
}

// MaxSessions is the maximum number of sessions per tenant, including those that failed to connect. Each session keeps an
// inventory in memory.
const MaxSessions = 64

// checkLimit returns an error if the tenant has reached MaxSessions. The caller must hold the lock.
func (p *Pool) checkLimit(ep Endpoint) error {
	if ep.Tenant == "" {
		return nil
	}
	has := 0
	for _, e := range p.entries {
		if _, of := e.tenants[ep.Tenant]; of {
			has++
		}
	}
	if has < MaxSessions {
		return nil
	}
	return fmt.Errorf("%w: namespace %s has %d, one for each server, account and thumbprint, and cannot open another to %s: "+
		"use the same account in several clusters, or wait until a session has been unused for %s", vcerrors.ErrTooMany, ep.Tenant, has, ep.Server, p.opts.Idle)
}

// rejectedIdle is after how long an account that vCenter rejects is dropped unless its session is requested.
const rejectedIdle = 10 * time.Minute

// expire ends an entry that was not requested for Options.Idle, or for a shorter time if vCenter rejects its account.
func (p *Pool) expire(id string, e *entry) {
	timer := time.NewTimer(min(p.opts.Idle, rejectedIdle))
	defer timer.Stop()
	for {
		select {
		case <-e.done:
			return
		case <-timer.C:
		}
		left := p.drop(id, e)
		if left <= 0 {
			<-e.done
			p.leave(e.ep.Server)
			return
		}
		timer.Reset(min(left, rejectedIdle))
	}
}

// drop ends an entry that has been idle for too long, or returns the remaining time.
func (p *Pool) drop(id string, e *entry) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.opts.Idle
	if e.refused() {
		idle = min(idle, rejectedIdle)
	}
	left := idle - time.Since(e.lastUsed)
	if left <= 0 {
		delete(p.entries, id)
		e.stop(errIdle)
	}
	return left
}

// leave drops the state of a server that has no entries left.
func (p *Pool) leave(server string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, e := range p.entries {
		if e.ep.Server == server {
			return
		}
	}
	p.opts.lines.Forget(server)
	p.opts.vcenters.Forget(server)
	p.opts.OnServerGone(server)
}

// Close logs out of all sessions, waiting until ctx ends at most. Afterwards the pool returns no sessions.
func (p *Pool) Close(ctx context.Context) error {
	p.mu.Lock()
	p.closed = true
	entries := p.entries
	p.entries = map[string]*entry{}
	p.mu.Unlock()

	for _, e := range entries {
		e.stop(errClosed)
	}
	for _, e := range entries {
		select {
		case <-e.done:
		case <-ctx.Done():
			return fmt.Errorf("logging out of vCenter: %w", ctx.Err())
		}
	}
	return nil
}

var (
	errIdle   = errors.New("the session was not used")
	errClosed = errors.New("the session pool is closed")
)
