// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"errors"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

// ForgetRequests deletes the series of rest_client_requests_total for a server, HOST or HOST:PORT. Call it when the server is not used any
// more: users name servers, so their number is unbounded.
func ForgetRequests(host string) {
	if counted := requests(); counted != nil {
		counted.DeletePartialMatch(prometheus.Labels{"host": host})
	}
}

// requests returns the counter, which controller-runtime does not export: a registry rejects an equal one and returns the one that it has.
var requests = sync.OnceValue(func() *prometheus.CounterVec { //nolint:gochecknoglobals // the counter is global, too
	equal := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "rest_client_requests_total", Help: "Number of HTTP requests, partitioned by status code, method, and host.",
	}, []string{"code", "method", "host"})
	var registered prometheus.AlreadyRegisteredError
	if errors.As(metrics.Registry.Register(equal), &registered) {
		counted, _ := registered.ExistingCollector.(*prometheus.CounterVec)
		return counted
	}
	return nil
})
