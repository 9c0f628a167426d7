// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// callMetrics records the number and duration of vCenter calls.
type callMetrics struct {
	calls    *prometheus.CounterVec
	duration *prometheus.HistogramVec
}

func newCallMetrics(registerer prometheus.Registerer) (*callMetrics, error) {
	m := &callMetrics{
		calls: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "capv_vcenter_calls_total", Help: "Calls to a vCenter, by method and result (success or error).",
		}, []string{"server", "method", "result"}),
		duration: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "capv_vcenter_call_duration_seconds", Help: "Duration of calls to a vCenter. Excludes WaitForUpdatesEx, which waits for changes.",
			Buckets: prometheus.ExponentialBuckets(0.005, 2, 12),
		}, []string{"server", "method"}),
	}
	for _, collector := range []prometheus.Collector{m.calls, m.duration} {
		if err := registerer.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	return m, nil
}

func (m *callMetrics) observe(server, method string, d time.Duration, err error) {
	result := "success"
	if err != nil {
		result = "error"
	}
	m.calls.WithLabelValues(server, method, result).Inc()
	if method != "WaitForUpdatesEx" {
		m.duration.WithLabelValues(server, method).Observe(d.Seconds())
	}
}

// forget deletes the series of a server that is not used any more. Tenants name servers, so their number is unbounded.
func (m *callMetrics) forget(server string) {
	m.calls.DeletePartialMatch(prometheus.Labels{"server": server})
	m.duration.DeletePartialMatch(prometheus.Labels{"server": server})
}
