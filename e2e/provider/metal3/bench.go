// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"

	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/simulator"
)

const (
	// rackCount is the number of failure domains in a setup.
	rackCount = 5

	// Targets with default flags.
	aimHostRequests = 6   // Kubernetes requests per machine, without events, leases and watches
	aimMemory       = 100 // MiB of the manager
)

// upstream holds the numbers of CAPM3, measured with as many hosts as machines, and the target.
type upstream struct {
	seconds, memory, cpu string
	aim                  float64 // seconds until all have their hosts
}

func upstreams() map[int]upstream {
	return map[int]upstream{200: {seconds: "31-39, tuned 23.5", aim: 5}, 1000: {seconds: "627, tuned 320", memory: "155", cpu: "180", aim: 30}}
}

// Benchmark implements benchmark.Provider.
func (Provider) Benchmark() benchmark.Suite {
	return benchmark.Suite{Machines: []int{200, 1000}, Measure: measure, Scale: measureScale}
}

// measure creates batches on as many hosts as machines.
func measure(machines []int, _ string) benchmark.Plan {
	var scenarios []benchmark.Scenario
	for _, n := range machines {
		scenarios = append(scenarios, benchmark.Scenario{
			Name: fmt.Sprintf("machines-%d", n), Title: fmt.Sprintf("%d machines on %d hosts in %d failure domains", n, n, rackCount),
			Run: func(ctx context.Context, e *benchmark.Environment) error { return makeBatch(ctx, e, n) },
		})
	}
	return benchmark.Plan{
		Ours: "Faultline", Upstream: "CAPM3 v1.13.1", Scenarios: scenarios,
		Notes: `Hosts and Machines exist, and are in the manager's cache, before the first machine is created. A machine has its host when
its status names it; the write of the host's spec is included. Requests and CPU are counted until the manager is idle. Requests are those
in the API server's audit log with the manager's user agent; events, leases and watches are counted separately. Without workload clusters,
nothing waits for Nodes.
`,
	}
}

// makeBatch creates machines at once. They are done when they have hosts, which do nothing.
func makeBatch(ctx context.Context, e *benchmark.Environment, machines int) error {
	f, err := setUp(ctx, e, machines)
	if err != nil {
		return err
	}
	b, err := e.Batch(ctx, f, machines)
	e.Add(rows(b)...)
	e.Detail(fmt.Sprintf("%d machines on %d hosts until they have hosts", machines, machines), machines, b.Cost)
	return err
}

func rows(b benchmark.Batch) []benchmark.Row {
	theirs := upstreams()[b.Machines]
	last := benchmark.Figure("seconds until all have a host", "%.1f", b.Seconds).WithUpstream(theirs.seconds)
	if theirs.aim > 0 {
		last = last.Below(theirs.aim)
	}
	return []benchmark.Row{
		last,
		benchmark.Figure("Kubernetes requests a machine until it has its host", "%.1f", b.Per(b.Work())).WithUpstream("8-18").AtMost(aimHostRequests),
		benchmark.Figure("lists of hosts in all", "%.0f", float64(b.Requests["list baremetalhosts"])).
			WithUpstream(fmt.Sprint(b.Machines)).Zero(),
		benchmark.Figure("events, leases and watches a machine", "%.1f", b.Per(b.Requests.Sum(benchmark.IsApart))),
		benchmark.Figure("CPU-seconds of the manager until all have a host", "%.1f", b.CPU).WithUpstream(theirs.cpu),
		benchmark.Figure("MiB of the manager at its peak", "%.0f", mib(b.Peak)).WithUpstream(theirs.memory).Below(aimMemory),
	}
}

func mib(bytes int64) float64 { return float64(bytes) / benchmark.Mebibyte }

// fleet is a number of machines of a cluster in its own namespace.
type fleet = benchmark.Fleet[*infrav1.Metal3Machine]

// setUp creates available hosts in racks, which do nothing, and a cluster without machines.
func setUp(ctx context.Context, e *benchmark.Environment, hosts int) (*fleet, error) {
	racks := simulator.Racks(rackCount, hosts/rackCount)
	for i := range hosts % rackCount {
		racks.Domains[i].Hosts++
	}
	racks.Ready = true
	cluster, err := createCluster(ctx, e.Client, "bench", racks)
	f := &fleet{
		Client: e.Client, Cluster: cluster, New: newMachine, List: &infrav1.Metal3MachineList{}, Done: associated,
		Placements: func(ctx context.Context) ([]provider.Placement, error) {
			return claimed(ctx, e.Client, cluster.Name, func(host simulator.Placement) bool { return host.PoweredOn })
		},
	}
	for _, rack := range racks.Domains {
		f.Domains = append(f.Domains, rack.Name)
	}
	return f, err
}

func associated(machine *infrav1.Metal3Machine) bool {
	return conditions.IsTrue(machine, infrav1.Metal3MachineAssociateBareMetalHostCondition)
}
