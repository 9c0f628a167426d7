// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package testenv

import (
	"context"
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Thief is a server of a tenant's that notes what others log in with.
type Thief struct {
	server *httptest.Server
	// secret is in a file that a manager can read, as the token of its ServiceAccount is.
	secret, file string

	mu   sync.Mutex
	seen []string
	// own is closed once the tenant's own token has arrived.
	own  chan struct{}
	once sync.Once
}

// NewThief starts one that ends with the test.
func NewThief(t *testing.T) *Thief {
	t.Helper()
	s := &Thief{secret: "token-of-the-manager", file: filepath.Join(t.TempDir(), "token"), own: make(chan struct{})}
	if err := os.WriteFile(s.file, []byte(s.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Header.Get("Authorization"))
		s.mu.Unlock()
		if s.saw("own") {
			s.once.Do(func() { close(s.own) })
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(s.server.Close)
	return s
}

// File is a kubeconfig that leads to the server with the token in the manager's file.
func (s *Thief) File() []byte { return kubeconfigTo(s.server, "tokenFile: "+s.file) }

// Own is a kubeconfig that leads to the server with a token of the tenant's.
func (s *Thief) Own() []byte { return kubeconfigTo(s.server, "token: own") }

// kubeconfigTo leads to a server with these fields of the user.
func kubeconfigTo(server *httptest.Server, user string) []byte {
	return fmt.Appendf(nil, "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}], users: [{name: u, user: {%s}}], "+
		"contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}", server.URL, user)
}

// Host is the host and port of the server.
func (s *Thief) Host() string { return strings.TrimPrefix(s.server.URL, "https://") }

// Thumbprint is that of the server's certificate.
func (s *Thief) Thumbprint() string { return thumbprint(s.server) }

// thumbprint is that of a server's certificate, as vCenter shows it.
func thumbprint(server *httptest.Server) string {
	return fmt.Sprintf("%X", sha256.Sum256(server.Certificate().Raw))
}

// Asked reports whether anything has arrived.
func (s *Thief) Asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) > 0
}

// IsRefused waits for the event on the first cluster that says why its kubeconfig is not used.
func (s *Thief) IsRefused(t *testing.T, c client.Reader, cluster client.ObjectKey) {
	t.Helper()
	last := &eventsv1.EventList{}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		if err := c.List(ctx, last, client.InNamespace(cluster.Namespace)); err != nil {
			return false, err
		}
		return slices.ContainsFunc(last.Items, func(e eventsv1.Event) bool {
			return e.Regarding.Kind == "Cluster" && e.Regarding.Name == cluster.Name && e.Reason == "KubeconfigRefused" && strings.Contains(e.Note, "may not set tokenFile")
		}), nil
	})
	if err != nil {
		t.Fatalf("no event on Cluster %s names the field that is refused: %v; there are %v", cluster, err, last.Items)
	}
}

// GetsNothing waits until the tenant's own token has arrived, with which a cluster was made after that with the file, and fails if the manager's has.
func (s *Thief) GetsNothing(t *testing.T) {
	t.Helper()
	select {
	case <-s.own:
	case <-time.After(patience):
		t.Fatalf("nothing has arrived with the tenant's own token after %s", patience)
	}
	if s.saw(s.secret) {
		t.Fatal("the manager has sent the token in its file to the server of the tenant")
	}
}

func (s *Thief) saw(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen, "Bearer "+token)
}
