// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"flag"
	"fmt"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
)

// Targets for spreading control planes and workers over failure domains.
const (
	aimClusters       = 1000
	aimDecision       = 20  // milliseconds of the manager's CPU
	aimClustersMemory = 120 // MiB of the manager

	aimWorkers        = 500
	aimSpread         = 10   // seconds until aimWorkers have their failure domains
	aimSpreadRequests = 1.05 // additional requests per machine: one, and a few for the cluster
)

// Scale is the number of objects to spread over failure domains, and how long the idle manager is observed.
type Scale struct {
	// Clusters is a number of clusters with control planes, Workers a number of machines of one MachineDeployment in another cluster.
	Clusters, Workers int
	Watch             time.Duration
}

// ParseScale parses "1", which means the numbers of the targets, or quantities that differ from them:
// "clusters=100,workers=50,watch=10s". Either clusters or workers may be 0, which skips its scenario.
func ParseScale(text string) (Scale, error) {
	var s Scale
	quantities := flag.NewFlagSet("scale", flag.ContinueOnError)
	quantities.IntVar(&s.Clusters, "clusters", aimClusters, "")
	quantities.IntVar(&s.Workers, "workers", aimWorkers, "")
	quantities.DurationVar(&s.Watch, "watch", 30*time.Second, "")
	err := benchmark.ReadScale(text, quantities)
	if err == nil && (min(s.Clusters, s.Workers) < 0 || s.Clusters+s.Workers == 0 || s.Watch <= 0) {
		err = fmt.Errorf("reading %q: clusters or workers, and watch, must be greater than 0", text)
	}
	return s, err
}

// limit returns the time limit of a scenario. Creating objects on a busy computer takes most of it.
func (s Scale) limit() time.Duration {
	return benchmark.ScenarioLimit + time.Duration(s.Clusters)*time.Second + time.Duration(s.Workers)*time.Second/4 + 2*s.Watch
}

// measureScale returns the scenarios for clusters and for workers.
func measureScale(text, _ string) (benchmark.Plan, error) {
	size, err := ParseScale(text)
	plan := benchmark.Plan{Ours: "spread", Upstream: "not spread", Notes: scaleNotes}
	if size.Workers > 0 {
		plan.Scenarios = measureWorkers(size.Workers)
	}
	if size.Clusters > 0 {
		plan.Scenarios = append(plan.Scenarios, benchmark.Scenario{
			Name:  fmt.Sprintf("clusters-%d", size.Clusters),
			Title: fmt.Sprintf("%d clusters of %d control-plane machines in 3 to 5 failure domains", size.Clusters, controlPlaneMachines),
			Run: func(ctx context.Context, e *benchmark.Environment) error {
				c := &clusters{in: e, watch: size.Watch}
				for i := range size.Clusters {
					c.all = append(c.all, newSpreadCluster(i))
				}
				return c.measure(ctx)
			},
		})
	}
	for i := range plan.Scenarios {
		plan.Scenarios[i].Limit = size.limit()
	}
	return plan, err
}

// both returns a row with the figures with and without spreading.
func both(name, format string, spread, not float64) benchmark.Row {
	return benchmark.Figure(name, format, spread).WithUpstream(fmt.Sprintf(format, not))
}

const scaleNotes = `The manager assigns failure domains to workers that are spread; the Machines of the others name theirs. The Machines exist
before. Times start at the creation of the first Metal3Machine; requests are counted until all have hosts and the manager is idle.
Clusters have rebalance Advise and workers enabled. The start is a restart of the manager with existing clusters: it reads all objects,
every controller reconciles each, and only requested changes are written. A decision follows an event that only the rebalancer handles,
and its result is written. Requests are those in the API server's audit log with the manager's user agent; events, leases and watches are
counted separately. There are no workload clusters, and the manager does not connect to any.
`
