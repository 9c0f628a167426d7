// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package setup

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus"
)

func TestMetricsOfUnusedServerAreRemoved(t *testing.T) {
	g := NewWithT(t)
	registry := prometheus.NewRegistry()
	m, err := newCallMetrics(registry)
	g.Expect(err).NotTo(HaveOccurred())
	for _, server := range []string{"stays", "goes"} {
		for _, method := range []string{"Login", "CloneVM_Task"} {
			m.observe(server, method, time.Second, nil)
		}
	}
	series := func(server string) (count int) {
		families, err := registry.Gather()
		g.Expect(err).NotTo(HaveOccurred())
		for _, family := range families {
			for _, metric := range family.GetMetric() {
				for _, label := range metric.GetLabel() {
					if label.GetName() == "server" && label.GetValue() == server {
						count++
					}
				}
			}
		}
		return count
	}
	g.Expect(series("goes")).To(Equal(4))
	m.forget("goes")
	g.Expect(series("goes")).To(BeZero())
	g.Expect(series("stays")).To(Equal(4))
}
