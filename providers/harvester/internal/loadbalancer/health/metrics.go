// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package health

import (
	"fmt"
	"net/netip"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
)

// Metrics are the metrics of health checks.
type Metrics struct {
	results  *prometheus.CounterVec
	open     prometheus.Gauge
	balanced prometheus.Gauge
}

// NewMetrics registers the metrics.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{
		results: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "harvester_load_balancer_health_checks_total",
			Help: "Number of health checks of machines behind load balancers by result: answers, refuses or hangs.",
		}, []string{"result"}),
		open: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "harvester_load_balancer_health_checks_in_flight",
			Help: "Number of health checks of machines behind load balancers that are in flight.",
		}),
		balanced: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "harvester_load_balancer_health_checked_load_balancers",
			Help: "Number of load balancers whose machines are checked.",
		}),
	}
	for _, collector := range []prometheus.Collector{m.results, m.open, m.balanced} {
		if err := registry.Register(collector); err != nil {
			return nil, fmt.Errorf("registering metrics of health checks: %w", err)
		}
	}
	return m, nil
}

func (m *Metrics) checked(answers, hangs bool) {
	if m == nil {
		return
	}
	result := "refuses"
	if answers {
		result = "answers"
	} else if hangs {
		result = "hangs"
	}
	m.results.WithLabelValues(result).Inc()
}

func (m *Metrics) inFlight(n int) {
	if m != nil {
		m.open.Set(float64(n))
	}
}

func (m *Metrics) machines(all map[types.NamespacedName]map[netip.Addr]*machine) {
	if m != nil {
		m.balanced.Set(float64(len(all)))
	}
}
