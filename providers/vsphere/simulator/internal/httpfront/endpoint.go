// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package httpfront is the network endpoint of a simulated vCenter: it accepts and counts calls, and can delay, reject, lose or abort
// them.
package httpfront

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vmware/govmomi/vim25/soap"
)

// Endpoint accepts connections and dispatches calls.
type Endpoint struct {
	// Waits holds the pending long polls.
	Waits Waits

	listener      *listener
	server        *http.Server
	mux           http.Handler
	calls         callCounter
	latency       latency
	lostResponses callCounts // responses
	overload      callCounts // calls
	holds         holds

	host        string // host name of the certificate
	certificate atomic.Pointer[tls.Certificate]

	mu     sync.Mutex
	closed bool
	done   sync.WaitGroup // the serving goroutine and all pending requests
}

// Listen listens on an address, such as 127.0.0.1:0, with its own certificate. Calls are not processed before Start.
func Listen(address string) (*Endpoint, error) {
	l, err := listen(address)
	if err != nil {
		return nil, fmt.Errorf("listening on %s: %w", address, err)
	}
	certificate, err := selfSigned(hostOf(address))
	if err != nil {
		_ = l.Close()
		return nil, err
	}
	f := &Endpoint{listener: l, host: hostOf(address)}
	f.certificate.Store(&certificate)
	f.server = &http.Server{
		Handler:           f,
		ReadHeaderTimeout: time.Minute,
		TLSConfig: &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) {
			return f.certificate.Load(), nil
		}},
		// One call per connection, so that resetting a connection affects exactly one call.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
		// Tests include clients that abort the handshake.
		ErrorLog: log.New(io.Discard, "", 0),
	}
	return f, nil
}

// Start starts to process calls with a handler.
func (f *Endpoint) Start(mux http.Handler) {
	f.mux = mux
	f.done.Go(func() {
		if err := f.server.ServeTLS(f.listener, "", ""); !errors.Is(err, http.ErrServerClosed) {
			log.Printf("simulator: serving %s: %v", f.listener.Addr(), err)
		}
	})
}

// Release closes the listener if Start has not been called.
func (f *Endpoint) Release() { _ = f.listener.Close() }

// Close stops the endpoint and waits for pending requests.
func (f *Endpoint) Close() {
	f.mu.Lock()
	f.closed = true
	f.mu.Unlock()
	f.latency.set(0)
	f.holds.releaseAll()
	_ = f.server.Close()
	f.Waits.CancelAll(context.Canceled)
	f.done.Wait()
}

// Address returns the address of the listener.
func (f *Endpoint) Address() *net.TCPAddr { return f.listener.Addr().(*net.TCPAddr) }

// Certificate returns the self-signed certificate of the endpoint.
func (f *Endpoint) Certificate() *x509.Certificate { return f.certificate.Load().Leaf }

// RenewCertificate replaces the certificate and resets every connection.
func (f *Endpoint) RenewCertificate() error {
	certificate, err := selfSigned(f.host)
	if err != nil {
		return err
	}
	f.certificate.Store(&certificate)
	f.listener.resetAll()
	return nil
}

// SetDelay delays every response, including pending ones.
func (f *Endpoint) SetDelay(d time.Duration) { f.latency.set(d) }

// SetDown resets all existing and new connections until it is called with false.
func (f *Endpoint) SetDown(down bool) { f.listener.setDown(down) }

// Calls returns the number of calls since the start or the last ResetCalls, by name: SOAP calls by method, REST calls as "REST
// GET /rest/...", with {id} for identifiers.
func (f *Endpoint) Calls() map[string]int { return f.calls.snapshot() }

// ResetCalls sets all counters to zero.
func (f *Endpoint) ResetCalls() { f.calls.reset() }

// LoseAnswers executes the next n calls with this name without responding; n below zero means all.
func (f *Endpoint) LoseAnswers(name string, n int) { f.lostResponses.set(name, n) }

// Overload responds to the next n calls with this name with status 503 without executing them; n below zero means all.
func (f *Endpoint) Overload(name string, n int) { f.overload.set(name, n) }

// Hold hangs calls with this name without executing them, until it is called again with false.
func (f *Endpoint) Hold(name string, on bool) { f.holds.set(name, on) }

// admit admits a request unless the server is closing.
func (f *Endpoint) admit() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.done.Add(1)
	}
	return !f.closed
}

func (f *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !f.admit() {
		return
	}
	defer f.done.Done()

	// Responses are recorded first and delayed afterwards: the REST simulator holds its lock while it writes, so a slow write
	// would block other calls.
	answer := httptest.NewRecorder()
	name, err := f.serve(answer, r)
	if err != nil || f.latency.wait(r.Context()) != nil {
		return // the client has disconnected
	}
	if f.lostResponses.take(name) {
		panic(http.ErrAbortHandler) // closes the connection
	}
	maps.Copy(w.Header(), answer.Header())
	w.WriteHeader(answer.Code)
	_, _ = w.Write(answer.Body.Bytes())
}

// serve executes a call and returns its name, as in Calls.
func (f *Endpoint) serve(answer *httptest.ResponseRecorder, r *http.Request) (name string, err error) {
	if strings.HasPrefix(r.URL.Path, "/rest") || strings.HasPrefix(r.URL.Path, "/api") {
		name = restName(r)
		f.calls.add(name)
		f.holds.wait(r.Context(), name)
		f.mux.ServeHTTP(answer, r)
		return name, nil
	}
	return f.serveSOAP(answer, r)
}

func (f *Endpoint) serveSOAP(answer *httptest.ResponseRecorder, r *http.Request) (name string, err error) {
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
			// vcsim would keep waiting after its client has disconnected.
			key := WaitKey{Collector: call.This}
			if cookie, err := r.Cookie(soap.SessionCookieName); err == nil {
				key.Session = cookie.Value
			}
			defer f.Waits.add(r.Context(), key)()
		}
	}
	f.mux.ServeHTTP(answer, r)
	return name, nil
}

func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return address
	}
	return host
}
