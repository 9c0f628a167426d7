// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"io"
	"net/http"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// discoveryRetry retries discovery requests when the API server fails. A manager exits at the first error of these requests while it
// starts, and the kubelet restarts it after up to five minutes. Other requests are retried by their callers.
type discoveryRetry struct {
	http.RoundTripper
	backoff wait.Backoff
}

// discoveryBackoff covers a short failure of the API server: half a minute in total.
func discoveryBackoff() wait.Backoff {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 7}
}

// RoundTrip implements http.RoundTripper.
func (p discoveryRetry) RoundTrip(r *http.Request) (*http.Response, error) {
	for backoff := p.backoff; ; {
		response, err := p.RoundTripper.RoundTrip(r)
		if err != nil || backoff.Steps < 1 || response.StatusCode < http.StatusInternalServerError || !isDiscovery(r) {
			return response, err
		}
		_, _ = io.Copy(io.Discard, response.Body) // The connection can be reused.
		_ = response.Body.Close()
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(backoff.Step()):
		}
	}
}

// isDiscovery reports whether a request is a discovery request: /api, /api/v1, /apis, /apis/group and /apis/group/version.
func isDiscovery(r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	return r.Method == http.MethodGet && (parts[0] == "api" && len(parts) <= 2 || parts[0] == "apis" && len(parts) <= 3)
}
