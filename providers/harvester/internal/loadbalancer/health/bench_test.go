// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package health_test

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"

	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer/health"
)

// BenchmarkChecks measures one check of a healthy machine, one of 10,000 behind 1,000 load balancers. The machines are in the same
// process, so their cost is included.
func BenchmarkChecks(b *testing.B) {
	port := machines(b)
	registry := prometheus.NewRegistry()
	metrics, err := health.NewMetrics(registry)
	if err != nil {
		b.Fatal(err)
	}
	checker := health.New(health.DefaultConnections, metrics)
	for lb := range 1000 {
		all := map[netip.Addr]health.Machine{}
		for machine := range 10 {
			all[netip.AddrFrom4([4]byte{127, byte(2 + machine), byte(lb / 250), byte(lb%250 + 1)})] = health.Machine{}
		}
		of := types.NamespacedName{Namespace: "default", Name: fmt.Sprintf("lb-%d", lb)}
		checker.Set(of, health.Check{Port: port, Successes: 1, Failures: 3, Period: time.Nanosecond, Timeout: time.Second}, all)
	}
	ctx, cancel := context.WithCancel(b.Context())
	defer cancel()
	used := cpu()
	b.ResetTimer()
	ended := make(chan error, 1)
	go func() { ended <- checker.Start(ctx) }()
	for tick := time.NewTicker(time.Millisecond); checks(b, registry) < b.N; {
		<-tick.C
	}
	b.StopTimer()
	b.ReportMetric(float64((cpu()-used).Microseconds())/float64(checks(b, registry)), "CPU-µs/check")
	cancel()
	if err := <-ended; err != nil {
		b.Fatal(err)
	}
}

// machines listens at every address of this host, on the returned port.
func machines(b *testing.B) uint16 {
	b.Helper()
	listener, err := (&net.ListenConfig{}).Listen(b.Context(), "tcp4", "0.0.0.0:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			_ = conn.Close()
		}
	}()
	return netip.MustParseAddrPort(listener.Addr().String()).Port()
}

func checks(b *testing.B, registry *prometheus.Registry) (sum int) {
	b.Helper()
	families, err := registry.Gather()
	if err != nil {
		b.Fatal(err)
	}
	for _, family := range families {
		for _, metric := range family.GetMetric() {
			sum += int(metric.GetCounter().GetValue())
		}
	}
	return sum
}

// cpu returns the CPU time of the process.
func cpu() time.Duration {
	usage := syscall.Rusage{}
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
