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

// SecretServer is a tenant's server that records the credentials it receives.
type SecretServer struct {
	server *httptest.Server
	// secret is in a file that a manager can read, like the token of its ServiceAccount.
	secret, file string

	mu   sync.Mutex
	seen []string
	// own is closed once the tenant's own token has arrived.
	own  chan struct{}
	once sync.Once
}

// NewSecretServer starts a SecretServer that stops at the end of the test.
func NewSecretServer(t *testing.T) *SecretServer {
	t.Helper()
	s := &SecretServer{secret: "token-of-the-manager", file: filepath.Join(t.TempDir(), "token"), own: make(chan struct{})}
	if err := os.WriteFile(s.file, []byte(s.secret), 0o600); err != nil {
		t.Fatal(err)
	}
	s.server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		s.seen = append(s.seen, r.Header.Get("Authorization"))
		s.mu.Unlock()
		if s.record("own") {
			s.once.Do(func() { close(s.own) })
		}
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(s.server.Close)
	return s
}

// File returns a kubeconfig for the server that refers to the token in the manager's file.
func (s *SecretServer) File() []byte { return kubeconfigTo(s.server, "tokenFile: "+s.file) }

// Own returns a kubeconfig for the server with a token of the tenant.
func (s *SecretServer) Own() []byte { return kubeconfigTo(s.server, "token: own") }

// kubeconfigTo returns a kubeconfig for a server with the given fields of the user.
func kubeconfigTo(server *httptest.Server, user string) []byte {
	return fmt.Appendf(nil, "{apiVersion: v1, kind: Config, clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}], users: [{name: u, user: {%s}}], "+
		"contexts: [{name: x, context: {cluster: c, user: u}}], current-context: x}", server.URL, user)
}

// Host returns the host and port of the server.
func (s *SecretServer) Host() string { return strings.TrimPrefix(s.server.URL, "https://") }

// Thumbprint returns the thumbprint of the server's certificate.
func (s *SecretServer) Thumbprint() string { return thumbprint(s.server) }

// thumbprint returns the thumbprint of a server's certificate in vCenter's format.
func thumbprint(server *httptest.Server) string {
	return fmt.Sprintf("%X", sha256.Sum256(server.Certificate().Raw))
}

// Asked reports whether any credentials have arrived.
func (s *SecretServer) Asked() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.seen) > 0
}

// IsRefused waits for the event that reports why the kubeconfig of the first cluster is rejected.
func (s *SecretServer) IsRefused(t *testing.T, c client.Reader, cluster client.ObjectKey) {
	t.Helper()
	last := &eventsv1.EventList{}
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, startTimeout, true, func(ctx context.Context) (bool, error) {
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

// ReceivesNothing waits until the tenant's own token has arrived, and fails if the manager's has. The test must create the cluster
// with the own token after the one with the file.
func (s *SecretServer) ReceivesNothing(t *testing.T) {
	t.Helper()
	select {
	case <-s.own:
	case <-time.After(startTimeout):
		t.Fatalf("nothing has arrived with the tenant's own token after %s", startTimeout)
	}
	if s.record(s.secret) {
		t.Fatal("the manager has sent the token in its file to the server of the tenant")
	}
}

func (s *SecretServer) record(token string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Contains(s.seen, "Bearer "+token)
}
