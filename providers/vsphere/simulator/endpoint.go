// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package simulator

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/vmware/govmomi/simulator"
	"github.com/vmware/govmomi/vim25"
	"github.com/vmware/govmomi/vim25/soap"
	"github.com/vmware/govmomi/vim25/types"
)

// endpoint is the network side of a server: it accepts, counts, delays, cuts.
type endpoint struct {
	listener *listener
	server   *http.Server
	mux      http.Handler
	calls    callCounter
	waits    waitTable
	latency  latency
	losses   losses // answers
	overload losses // calls
	holds    holds

	mu     sync.Mutex
	closed bool
	done   sync.WaitGroup // the serving goroutine and every request under way
}

func newEndpoint(l *listener, certificate tls.Certificate) *endpoint {
	f := &endpoint{listener: l}
	f.server = &http.Server{
		Handler:           f,
		ReadHeaderTimeout: time.Minute,
		TLSConfig:         &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		// One connection, one call: cutting connections then cuts what it says.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		// Handshakes that clients give up are part of the tests.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return f
}

func (f *endpoint) start(mux http.Handler) {
	f.mux = mux
	f.done.Go(func() {
		if err := f.server.ServeTLS(f.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			log.Printf("simulator: serving %s: %v", f.listener.Addr(), err)
		}
	})
}

// close returns when no request is under way any more.
func (f *endpoint) close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.latency.set(0)
	f.holds.releaseAll()
	_ = f.server.Close()
	f.waits.cancelAll(context.Canceled)
	f.done.Wait()
}

// enter admits a request unless the server is closing.
func (f *endpoint) enter() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.done.Add(1)
	}
	return !f.closed
}

func (f *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.enter() {
		return
	}
	defer f.done.Done()

	answer := newRecorder()
	name, err := f.serve(answer, r)
	if err != nil || f.latency.wait(r.Context()) != nil {
		return // the client is gone
	}
	if f.losses.take(name) {
		panic(http.ErrAbortHandler) // closes the connection
	}
	answer.sendTo(w)
}

// serve carries a call out and returns its name, as Calls has it.
func (f *endpoint) serve(answer *recorder, r *http.Request) (name string, err error) {
	if strings.HasPrefix(r.URL.Path, "/rest") || strings.HasPrefix(r.URL.Path, "/api") {
		name = restName(r)
		f.calls.add(name)
		f.mux.ServeHTTP(answer, r)
		return name, nil
	}
	return f.serveSOAP(answer, r)
}

func (f *endpoint) serveSOAP(answer *recorder, r *http.Request) (name string, err error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return "", err
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if call, ok := parseSOAP(body); ok && r.Method == http.MethodPost {
		name = call.Method
		f.calls.add(name)
		if f.overload.take(name) {
			http.Error(answer, overloadPage, http.StatusServiceUnavailable)
			return name, nil
		}
		f.holds.wait(r.Context(), name)
		if call.Method == "WaitForUpdatesEx" || call.Method == "WaitForUpdates" {
			// vcsim would go on waiting for a client that has long gone.
			key := waitKey{collector: call.This}
			if cookie, err := r.Cookie(soap.SessionCookieName); err == nil {
				key.session = cookie.Value
			}
			defer f.waits.add(r.Context(), key)()
		}
	}
	f.mux.ServeHTTP(answer, r)
	return name, nil
}

// latency is how late every answer comes.
type latency struct {
	mu      sync.Mutex
	delay   time.Duration
	changed chan struct{}
}

// set takes effect at once, for answers that are being delayed too.
func (l *latency) set(d time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.delay = d
	if l.changed != nil {
		close(l.changed)
	}
	l.changed = make(chan struct{})
}

func (l *latency) get() (time.Duration, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.delay, l.changed
}

func (l *latency) wait(ctx context.Context) error {
	start := time.Now()
	for {
		d, changed := l.get()
		left := d - time.Since(start)
		if left <= 0 {
			return ctx.Err()
		}
		timer := time.NewTimer(left)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		case <-changed:
			timer.Stop()
		}
	}
}

// waitKey tells the long polls apart: a session and its property collector.
type waitKey struct{ session, collector string }

// waitTable knows the long polls under way and ends them.
type waitTable struct {
	mu    sync.Mutex
	waits map[waitKey]*wait
}

type wait struct {
	ctx    context.Context //nolint:containedctx // It crosses vcsim, which passes no context from the request to the collector.
	cancel context.CancelCauseFunc
	over   chan struct{} // closed when the call has been answered
}

// add makes the wait known until the returned function is called.
func (t *waitTable) add(ctx context.Context, key waitKey) (remove func()) {
	w := &wait{over: make(chan struct{})}
	w.ctx, w.cancel = context.WithCancelCause(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waits == nil {
		t.waits = map[waitKey]*wait{}
	}
	t.waits[key] = w
	return func() {
		close(w.over)
		w.cancel(nil)
		t.mu.Lock()
		defer t.mu.Unlock()
		if t.waits[key] == w {
			delete(t.waits, key)
		}
	}
}

// bind ends a long poll of vcsim's own collector with its client's connection. vcsim would go on waiting.
func (t *waitTable) bind(ctx *simulator.Context, ref types.ManagedObjectReference) {
	stock, ok := ctx.Session.Get(ref).(*simulator.PropertyCollector)
	if !ok {
		return
	}
	t.mu.Lock()
	w := t.waits[waitKey{session: ctx.Session.Key, collector: ref.Value}]
	t.mu.Unlock()
	if w == nil {
		return
	}
	go func() {
		<-w.ctx.Done()
		for { // vcsim has no memory of a cancellation that came before the wait
			select {
			case <-w.over:
				return
			case <-time.After(gatherTime):
				stock.CancelWaitForUpdates(nil)
			}
		}
	}()
}

// context returns what bounds the wait; calls from inside the process have no bound.
func (t *waitTable) context(key waitKey) context.Context {
	t.mu.Lock()
	defer t.mu.Unlock()
	if w := t.waits[key]; w != nil {
		return w.ctx
	}
	return context.Background()
}

func (t *waitTable) cancelAll(cause error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, w := range t.waits {
		w.cancel(cause)
	}
}

// sdkPath is where the SOAP API is served.
const sdkPath = vim25.Path
