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

// patient asks again which kinds there are when the API server fails to answer. A manager that starts ends at the first error of these
// requests, and a kubelet starts it again after up to five minutes. What else a manager asks for is tried again by those who ask.
type patient struct {
	http.RoundTripper
	backoff wait.Backoff
}

// patientBackoff is for an API server that is not well for a moment: half a minute in all.
func patientBackoff() wait.Backoff {
	return wait.Backoff{Duration: 250 * time.Millisecond, Factor: 2, Jitter: 0.1, Steps: 7}
}

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	for backoff := p.backoff; ; {
		response, err := p.RoundTripper.RoundTrip(r)
		if err != nil || backoff.Steps < 1 || response.StatusCode < http.StatusInternalServerError || !isDiscovery(r) {
			return response, err
		}
		_, _ = io.Copy(io.Discard, response.Body) // The connection can be used again.
		_ = response.Body.Close()
		select {
		case <-r.Context().Done():
			return nil, r.Context().Err()
		case <-time.After(backoff.Step()):
		}
	}
}

// isDiscovery reports whether a request is for the groups, versions or kinds that there are: /api, /api/v1, /apis, /apis/group and
// /apis/group/version.
func isDiscovery(r *http.Request) bool {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	return r.Method == http.MethodGet && (parts[0] == "api" && len(parts) <= 2 || parts[0] == "apis" && len(parts) <= 3)
}
