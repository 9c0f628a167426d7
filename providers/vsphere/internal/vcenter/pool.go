// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package vcenter is the only code that talks to vCenter.
//
// A Pool keeps one session per server and account. A session follows the inventory through one property-collector
// stream into an index, so that reads cost no call, and reports what changes as events. What acts on vCenter starts a
// task and returns its reference: nothing here waits for a task on behalf of a caller.
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

// Endpoint is one vCenter and one account on it.
type Endpoint struct {
	Server     string // host[:port], or https://host[:port] with or without /sdk
	Username   string
	Password   string
	Thumbprint string // SHA-1 or SHA-256 of the certificate in hex, colons allowed; it is looked at when no authority vouches for that
	// Tenant is who asks, whose sessions are counted; "" has no limit. It is no part of what the session is.
	Tenant string
}

// Account names the account on the server, however its certificate is verified, and tells neither its name nor its
// password. It is the same for the life of the process only.
func (ep Endpoint) Account() string {
	return sum(ep.Server, ep.Username, ep.Password)
}

// session names all that makes a session what it is, so that nobody is given one that is trusted for another reason.
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

// accountSalt makes it useless to try passwords against what Account returned.
var accountSalt = sync.OnceValue(func() []byte { return []byte(rand.Text()) }) //nolint:gochecknoglobals // read only

// Options configure a Pool.
type Options struct {
	// OnEvent is told what happens on any server. It is called from the streams and must not block.
	OnEvent func(Event)
	// OnCall is told of every call: the SOAP method as on the wire, or "GET /rest/..." without identifiers.
	OnCall func(server, method string, d time.Duration, err error)
	// OnServerGone is told that the pool has no session on a server any more, nor tries to have one.
	OnServerGone func(server string)
	// Idle is how long a session is kept that nobody asks for. The default is one hour.
	Idle time.Duration
	// UserAgent is shown in vCenter's list of sessions.
	UserAgent string
	// Authorities vouch for the certificates of vCenters; nil means those of the system.
	Authorities *x509.CertPool
	// SkipVerify accepts every certificate of vCenters without a thumbprint.
	SkipVerify bool
	// MaxAnswer is how many bytes of one answer are read; 0 is the default of package bounded.
	MaxAnswer int64
	// KeepNotes returns the part of a virtual machine's notes that VM.Annotation shall have. Nil keeps all, and that of each
	// virtual machine on the vCenter.
	KeepNotes func(notes string) string
	Log       *slog.Logger

	turns    *groupTurns       // of all sessions
	lines    *transport.Lines  // of all sessions
	vcenters *inventory.Shared // of all sessions

	dial func(ctx context.Context, ep Endpoint, opts *Options, lose context.CancelCauseFunc) (*Session, error)
}

// EventKind says what an Event reports.
type EventKind string

// What a session reports.
const (
	// VMChanged reports that a virtual machine came, changed or went.
	VMChanged EventKind = "VMChanged"
	// TaskDone reports that a task succeeded, failed, or is no longer followed.
	TaskDone EventKind = "TaskDone"
	// InventoryChanged reports, at most a few times a second, that anything but a plain virtual machine changed:
	// clusters, groups, rules, hosts, pools, folders, datastores, networks, templates.
	InventoryChanged EventKind = "InventoryChanged"
	// SessionUp reports that a session can be used, after the first login and after every loss.
	SessionUp EventKind = "SessionUp"
	// SessionDown reports that a session was lost, or that a login failed for another reason than those before. It is
	// being repaired.
	SessionDown EventKind = "SessionDown"
)

// Event is comparable, so that equal ones can be merged.
type Event struct {
	Server       string // as in Endpoint
	Account      string // whose session came up or went down, see Endpoint.Account; "" with what concerns every account
	Kind         EventKind
	InstanceUUID string // of the virtual machine that changed, or that the task worked on or made
	BiosUUID     string // of the same
	VM           string // reference of the same
	Task         string
	Name         string // of that virtual machine
}

// Pool keeps the sessions. Its methods may be called from many goroutines.
type Pool struct {
	opts Options

	mu      sync.Mutex        // guards the map and the entries' lastUsed; never held across a call
	entries map[string]*entry // by Endpoint.session
	closed  bool
}

// NewPool returns an empty pool. Close it to log out.
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
	opts.turns, opts.lines, opts.vcenters = &groupTurns{}, &transport.Lines{}, &inventory.Shared{Keep: opts.KeepNotes}
	return &Pool{opts: opts, entries: map[string]*entry{}}
}

// Session returns the live session of an endpoint and never waits for the network. Without one it starts to connect, and
// answers ErrConnecting until the inventory is known or the classified error of the last attempt (ErrUnreachable,
// ErrUnauthorized, ErrThumbprint, ErrUntrusted) while it tries again. A SessionUp event follows. Ask again for each use:
// a session that was lost is replaced by another. An account that vCenter refuses is tried again, a minute later at the
// earliest, only if somebody asks in the meantime.
func (p *Pool) Session(ep Endpoint) (*Session, error) {
	if ep.Server == "" {
		return nil, fmt.Errorf("%w: no vCenter server is named", vcerrors.ErrInvalid)
	}
	id := ep.session()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, fmt.Errorf("%w: the session pool is closed", vcerrors.ErrUnreachable)
	}
	e, ok := p.entries[id]
	if !ok {
		if err := p.room(ep); err != nil {
			return nil, err
		}
		e = newEntry(ep, &p.opts)
		p.entries[id] = e
		go e.run()
		go p.expire(id, e)
	} else {
		e.ask() // the first has it tried anyway
	}
	e.lastUsed = time.Now()
	e.tenants[ep.Tenant] = struct{}{}
	return e.current()
}

// MaxSessions is how many sessions a tenant may have, those included that are no use. Each keeps an inventory in memory.
const MaxSessions = 64

// room reports whether the tenant may have another session. The lock is held.
func (p *Pool) room(ep Endpoint) error {
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
	return fmt.Errorf("%w: namespace %s has %d, one for each server, account and thumbprint, and may not have another on %s: "+
		"let clusters share accounts, or wait until one has not been used for %s", vcerrors.ErrTooMany, ep.Tenant, has, ep.Server, p.opts.Idle)
}

// forgotten is after how long an account is given up that vCenter refuses and nobody asks for.
const forgotten = 10 * time.Minute

// expire ends an entry that nobody has asked for during Options.Idle, or for less long if it is of no use.
func (p *Pool) expire(id string, e *entry) {
	timer := time.NewTimer(min(p.opts.Idle, forgotten))
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
		timer.Reset(min(left, forgotten))
	}
}

// drop ends an entry that has been idle for too long. Else it returns how long it may be so yet.
func (p *Pool) drop(id string, e *entry) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	idle := p.opts.Idle
	if e.refused() {
		idle = min(idle, forgotten)
	}
	left := idle - time.Since(e.lastUsed)
	if left <= 0 {
		delete(p.entries, id)
		e.stop(errIdle)
	}
	return left
}

// leave drops what is known of a server that no entry is for.
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

// Close logs out everywhere and waits for that until ctx ends. The pool gives no sessions afterwards.
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
