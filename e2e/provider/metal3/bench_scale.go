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

// measureScale returns the scenarios for workers of one MachineDeployment, and for many clusters with control planes.
func measureScale(quantities *flag.FlagSet) func(other string) benchmark.Plan {
	clusterCount := quantities.Int("clusters", aimClusters, "")
	workerCount := quantities.Int("workers", aimWorkers, "")
	watch := quantities.Duration("watch", 30*time.Second, "")
	return func(string) benchmark.Plan {
		scenarios := append(measureWorkers(*workerCount), benchmark.Scenario{
			Name:  fmt.Sprintf("clusters-%d", *clusterCount),
			Title: fmt.Sprintf("%d clusters of %d control-plane machines in 3 to 5 failure domains", *clusterCount, controlPlaneMachines),
			Run: func(ctx context.Context, e *benchmark.Environment) error {
				c := &clusters{in: e, watch: *watch}
				for i := range *clusterCount {
					c.all = append(c.all, newSpreadCluster(i))
				}
				return c.measure(ctx)
			},
		})
		for i := range scenarios {
			// Creating objects on a busy computer takes most of the time.
			scenarios[i].Limit = benchmark.ScenarioLimit + time.Duration(*clusterCount)*time.Second + time.Duration(*workerCount)*time.Second/4 + 2**watch
		}
		return benchmark.Plan{Ours: "spread", Upstream: "not spread", Scenarios: scenarios, Notes: scaleNotes}
	}
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
