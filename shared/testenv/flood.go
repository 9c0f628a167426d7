// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// FloodBound is the maximum size in bytes of a response that the manager may read with FloodFlag.
const FloodBound = 1 << 20

// FloodFlag returns the argument of the manager for tests with a Flood.
func FloodFlag() string { return fmt.Sprintf("--max-answer-bytes=%d", FloodBound) }

// mostOfFlood is far more than the manager may read and the network may buffer.
const mostOfFlood = 64 * FloodBound

// Flood is a tenant's server whose responses are far longer than the manager may read. It responds like an API server or a
// vCenter, depending on the request.
type Flood struct {
	server *httptest.Server
	// cut is closed once a client has closed the connection of a response.
	cut   chan struct{}
	once  sync.Once
	whole atomic.Bool // a response was read completely
}

// NewFlood starts a Flood that stops at the end of the test.
func NewFlood(t *testing.T) *Flood {
	t.Helper()
	f := &Flood{cut: make(chan struct{})}
	f.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		part := []byte(`{"apiVersion":"`)
		w.Header().Set("Content-Type", "application/json")
		if r.URL.Path == "/sdk" {
			part = []byte(`<Envelope xmlns="http://schemas.xmlsoap.org/soap/envelope/"><Body><RetrieveServiceContentResponse xmlns="urn:vim25"><returnval><rootFolder type="`)
			w.Header().Set("Content-Type", "text/xml")
		}
		for sent := 0; sent < mostOfFlood; {
			n, err := w.Write(part)
			if err != nil {
				f.once.Do(func() { close(f.cut) })
				return
			}
			sent += n
			part = []byte(strings.Repeat("x", 1<<16))
		}
		f.whole.Store(true)
	}))
	t.Cleanup(f.server.Close)
	return f
}

// Host returns the host and port of the server.
func (f *Flood) Host() string { return strings.TrimPrefix(f.server.URL, "https://") }

// Thumbprint returns the thumbprint of the server's certificate.
func (f *Flood) Thumbprint() string { return thumbprint(f.server) }

// Kubeconfig returns a kubeconfig for the server.
func (f *Flood) Kubeconfig() []byte { return kubeconfigTo(f.server, "token: own") }

// IsEnded waits until the manager has closed the connection of a response, and fails if it has read one completely.
func (f *Flood) IsEnded(t *testing.T) {
	t.Helper()
	select {
	case <-f.cut:
	case <-time.After(startTimeout):
		t.Errorf("the manager has ended no answer after %s", startTimeout)
	}
	if f.whole.Load() {
		t.Errorf("the manager has read a response of %d bytes: it may read %d", mostOfFlood, FloodBound)
	}
}
