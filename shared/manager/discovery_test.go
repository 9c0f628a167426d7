// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package manager

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

func TestDiscoveryRetries(t *testing.T) {
	const failures = 3
	for path, asked := range map[string]int32{
		"/api": failures + 1, "/apis": failures + 1, "/api/v1": failures + 1, "/apis/apps": failures + 1, "/apis/apps/v1": failures + 1,
		"/api/v1/nodes": 1, "/apis/apps/v1/deployments": 1, "/version": 1,
	} {
		g := NewWithT(t)
		var requests atomic.Int32
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if requests.Add(1) <= failures {
				w.WriteHeader(http.StatusGatewayTimeout)
			}
		}))
		t.Cleanup(server.Close)
		client := &http.Client{Transport: discoveryRetry{http.DefaultTransport, wait.Backoff{Duration: time.Millisecond, Steps: failures}}}
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+path, http.NoBody)
		g.Expect(err).NotTo(HaveOccurred())
		response, err := client.Do(request)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(response.Body.Close()).To(Succeed())
		g.Expect(requests.Load()).To(Equal(asked), path)
		code := http.StatusGatewayTimeout
		if asked > 1 {
			code = http.StatusOK
		}
		g.Expect(response.StatusCode).To(Equal(code), path)
	}
}

func TestDiscoveryGivesUp(t *testing.T) {
	g := NewWithT(t)
	var requests atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		requests.Add(1)
		w.WriteHeader(http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	config := &rest.Config{Host: server.URL}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return discoveryRetry{next, wait.Backoff{Duration: time.Millisecond, Steps: 2}}
	})
	client, err := discovery.NewDiscoveryClientForConfig(config)
	g.Expect(err).NotTo(HaveOccurred())
	_, err = client.ServerResourcesForGroupVersion(corev1.SchemeGroupVersion.String())
	g.Expect(err).To(HaveOccurred())
	g.Expect(requests.Load()).To(BeEquivalentTo(3))
}
