// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

func TestTheScaleIsReadFromWhatDiffers(t *testing.T) {
	g := NewWithT(t)
	full, err := ParseScale("1")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*full).To(Equal(Scale{Clusters: 1000, Workers: 500, Watch: 30 * time.Second}))
	some, err := ParseScale("clusters=20, watch=5s,workers=0")
	g.Expect(err).NotTo(HaveOccurred())
	g.Expect(*some).To(Equal(Scale{Clusters: 20, Watch: 5 * time.Second}))
	for _, wrong := range []string{"clusters=", "clusters=0,workers=0", "workers=-1", "machines=3", "watch=5", "watch=0s", ""} {
		_, err := ParseScale(wrong)
		g.Expect(err).To(HaveOccurred(), wrong)
	}
}

func TestTheReportOfSpreadingMarksMissedAims(t *testing.T) {
	good := func() *ScaleResults {
		return &ScaleResults{
			Clusters: &ClusterResults{
				Clusters: 1000, Uneven: 500, Seconds: 30, Spread: ClusterStart{RSS: 119 << 20, Peak: 119 << 20},
				Change: benchmark.Cost{CPU: 19.9, Requests: benchmark.Counts{"patch metal3clusters/status": 500}},
			},
			Workers: &WorkerResults{
				Spread: Workers{Machines: 500, Hosts: 605, Assigned: 9.9, Cost: benchmark.Cost{Requests: benchmark.Counts{"patch metal3machines": 2020, "create events": 999}}},
				Named:  Workers{Machines: 500, Hosts: 605, Cost: benchmark.Cost{Requests: benchmark.Counts{"patch metal3machines": 1500}}},
			},
		}
	}
	for name, test := range map[string]struct {
		change func(*ScaleResults)
		missed string
	}{
		"all reached":              {change: func(*ScaleResults) {}},
		"a request at rest":        {func(r *ScaleResults) { r.Clusters.Spread.Rest.Requests = benchmark.Counts{"get secrets": 1} }, "requests a cluster in 30 s at rest"},
		"a watch that is renewed":  {change: func(r *ScaleResults) { r.Clusters.Spread.Rest.Requests = benchmark.Counts{"watch machines": 1} }},
		"a slow decision":          {func(r *ScaleResults) { r.Clusters.Change.CPU = 20 }, "CPU-milliseconds of the manager a decision"},
		"too much memory":          {func(r *ScaleResults) { r.Clusters.Spread.RSS = 120 << 20 }, "MiB of the manager at rest"},
		"too much memory at times": {func(r *ScaleResults) { r.Clusters.Spread.Peak = 120 << 20 }, "MiB of the manager, highest"},
		"workers wait too long":    {func(r *ScaleResults) { r.Workers.Spread.Assigned = 10 }, "seconds until all are assigned"},
		"two requests a worker":    {func(r *ScaleResults) { r.Workers.Named.Cost.Requests["patch metal3machines"] = 1000 }, "of these for being spread"},
		"no aim for more workers": {change: func(r *ScaleResults) {
			w := r.Workers
			w.Spread.Machines, w.Named.Machines, w.Spread.Assigned = 501, 501, 99
		}},
	} {
		t.Run(name, func(t *testing.T) {
			g := NewWithT(t)
			r := good()
			test.change(r)
			if test.missed == "" {
				g.Expect(r.Report()).NotTo(ContainSubstring(benchmark.Missed))
				return
			}
			g.Expect(r.Report()).To(MatchRegexp(`(?m)%s.*MISSED$`, test.missed))
		})
	}
}

func TestWhatWasNotMeasuredHasNoFigures(t *testing.T) {
	g := NewWithT(t)
	text := (&ScaleResults{}).Report()
	g.Expect(strings.Count(text, benchmark.Unmeasured)).To(Equal(2))
	g.Expect(text).NotTo(ContainSubstring("NaN"))
}

func TestHalfOfTheClustersHaveMachinesThatAreToBeMovedToFreeHosts(t *testing.T) {
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
		g.Expect(in).To(HaveLen(p.racks), "a rack without hosts is none for a control plane")
		g.Expect(free).To(HaveLen(map[bool]int{true: 0, false: p.racks - 2}[p.even]))
	}
}
