// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"testing"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

func TestBatchReport(t *testing.T) {
	reached := Batch{
		Machines: 200, Hosts: 200, Associated: 4.9, Peak: 99 << 20,
		Association: benchmark.Cost{Requests: benchmark.Counts{"patch baremetalhosts": 400, "patch metal3machines": 800, "create events": 999}},
	}
	for name, test := range map[string]struct {
		change func(*Batch)
		missed string
	}{
		"all reached":       {change: func(*Batch) {}},
		"too late":          {func(f *Batch) { f.Associated = 5 }, "seconds until all have a host"},
		"a request more":    {func(f *Batch) { f.Association.Requests["get secrets"]++ }, "requests a machine until it has its host"},
		"a list":            {func(f *Batch) { f.Association.Requests = benchmark.Counts{"list baremetalhosts": 1} }, "lists of hosts"},
		"too much memory":   {func(f *Batch) { f.Peak = 100 << 20 }, "MiB of the manager"},
		"a size of no aims": {change: func(f *Batch) { f.Machines, f.Hosts, f.Associated = 201, 402, 99 }},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			batch := reached
			batch.Association.Requests = reached.Association.Requests.Plus(nil)
			test.change(&batch)
			text := HostResults{Provider: "metal3", Batches: []Batch{batch}}.Report()
			if test.missed == "" {
				g.Expect(text).NotTo(ContainSubstring(benchmark.Missed))
				return
			}
			g.Expect(text).To(MatchRegexp(`(?m)%s.*MISSED$`, test.missed))
		})
	}
	NewWithT(t).Expect(HostResults{}.Report()).To(ContainSubstring(benchmark.Unmeasured))
}

func TestPercentile(t *testing.T) {
	g := NewWithT(t)
	g.Expect(percentile(nil, 99)).To(BeZero())
	g.Expect(percentile([]float64{1}, 99)).To(Equal(1.0))
	hundred := make([]float64, 100)
	for i := range hundred {
		hundred[i] = float64(i + 1)
	}
	g.Expect(percentile(hundred, 99)).To(Equal(99.0))
	g.Expect(percentile(hundred[:50], 50)).To(Equal(25.0))
}
