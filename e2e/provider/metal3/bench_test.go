// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

//go:build full

package metal3

import (
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

func TestBatchReport(t *testing.T) {
	reached := func() benchmark.Batch {
		return benchmark.Batch{Machines: 200, Seconds: 4.9, Peak: 99 << 20, Cost: benchmark.Cost{
			Requests: benchmark.Counts{"patch baremetalhosts": 400, "patch metal3machines": 800, "create events": 999},
		}}
	}
	for name, test := range map[string]struct {
		change func(*benchmark.Batch)
		missed string
	}{
		"all reached":       {change: func(*benchmark.Batch) {}},
		"too late":          {func(b *benchmark.Batch) { b.Seconds = 5 }, "seconds until all have a host"},
		"a request more":    {func(b *benchmark.Batch) { b.Requests["get secrets"]++ }, "requests a machine until it has its host"},
		"a list":            {func(b *benchmark.Batch) { b.Requests = benchmark.Counts{"list baremetalhosts": 1} }, "lists of hosts"},
		"too much memory":   {func(b *benchmark.Batch) { b.Peak = 100 << 20 }, "MiB of the manager"},
		"a size of no aims": {change: func(b *benchmark.Batch) { b.Machines, b.Seconds = 201, 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			b := reached()
			test.change(&b)
			expectMissed(t, rows(b), test.missed)
		})
	}
}

func expectMissed(t *testing.T, rows []benchmark.Row, missed string) {
	t.Helper()
	g, text := NewWithT(t), benchmark.Table(rows)
	if missed == "" {
		g.Expect(text).NotTo(ContainSubstring(benchmark.Missed))
		return
	}
	g.Expect(text).To(MatchRegexp(`(?m)%s.*MISSED$`, missed))
}

func TestClusterReportMarksMissedTargets(t *testing.T) {
	asked := func(request string) func(*clusters) {
		return func(c *clusters) { c.rest.Requests = benchmark.Counts{request: 1} }
	}
	for name, test := range map[string]struct {
		change func(*clusters)
		missed string
	}{
		"all reached":              {change: func(*clusters) {}},
		"a request at rest":        {asked("get secrets"), "requests a cluster in 30s of idling"},
		"a watch that is renewed":  {change: asked("watch machines")},
		"a slow decision":          {func(c *clusters) { c.change.CPU = 20 }, "CPU-milliseconds of the manager a decision"},
		"too much memory":          {func(c *clusters) { c.rss = 120 << 20 }, "MiB of the idle manager"},
		"too much memory at times": {func(c *clusters) { c.peak = 120 << 20 }, "MiB of the manager at its peak"},
	} {
		t.Run(name, func(t *testing.T) {
			c := &clusters{
				all: make([]*spreadCluster, 1000), uneven: 500, watch: 30 * time.Second, rss: 119 << 20, peak: 119 << 20,
				change: benchmark.Cost{CPU: 19.9, Requests: benchmark.Counts{"patch metal3clusters/status": 500}},
			}
			test.change(c)
			expectMissed(t, c.rows(), test.missed)
		})
	}
}

func TestWorkerReportMarksMissedTargets(t *testing.T) {
	for name, test := range map[string]struct {
		change func(spread, named *workers)
		missed string
	}{
		"all reached":           {change: func(_, _ *workers) {}},
		"workers wait too long": {func(spread, _ *workers) { spread.assigned = 10 }, "seconds until all are assigned"},
		"two requests a worker": {func(_, named *workers) { named.Requests["patch metal3machines"] = 1000 }, "of these for being spread"},
		"no aim for more workers": {change: func(spread, named *workers) {
			spread.Machines, named.Machines, spread.assigned = 501, 501, 99
		}},
	} {
		t.Run(name, func(t *testing.T) {
			named := workers{Batch: benchmark.Batch{Machines: 500}, hosts: 605}
			spread := named
			spread.assigned, spread.Requests = 9.9, benchmark.Counts{"patch metal3machines": 2020, "create events": 999}
			named.Requests = benchmark.Counts{"patch metal3machines": 1500}
			test.change(&spread, &named)
			expectMissed(t, workerRows(spread, named), test.missed)
		})
	}
}

func TestHalfOfClustersNeedMoves(t *testing.T) {
	for number := range 6 {
		g := NewWithT(t)
		p := newSpreadCluster(number)
		layout, hosts := p.layout()
		g.Expect(layout.Domains).To(HaveLen(p.racks))
		g.Expect(hosts).To(HaveLen(controlPlaneMachines))
		free, in := map[string]int{}, map[string]int{}
		for _, host := range layout.Hosts("ns") {
			in[host.Labels["infrastructure.cluster.x-k8s.io/failure-domain"]]++
			if host.Spec.ConsumerRef == nil {
				free[host.Name]++
				continue
			}
			g.Expect(hosts).To(ContainElement(host.Name))
		}
		g.Expect(in).To(HaveLen(p.racks), "a rack without hosts does not receive a control plane")
		g.Expect(free).To(HaveLen(map[bool]int{true: 0, false: p.racks - 2}[p.even]))
	}
}
