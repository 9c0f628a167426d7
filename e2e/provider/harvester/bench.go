// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"time"

	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

const (
	// watched is how long ready machines are observed by default.
	watched = 30 * time.Second

	// Targets for 200 machines on a Harvester without delays.
	aimCalls  = 8   // requests to Harvester per machine
	aimReady  = 15  // seconds until all are ready
	aimMemory = 100 // MiB of the manager

	// upstreams is the number of machines in the column of upstream's manager.
	upstreams = 200
)

const notes = `Machines and bootstrap data exist before the first HarvesterMachine. A machine is ready when its virtual machine runs and has
an address; the real kube-scheduler chooses its host. Requests to Harvester are counted in front of its API server; watches are counted
separately. Without workload clusters, nothing waits for Nodes; CAPHV polls for them every 10 s. The CAPHV column was measured with
--manager, in the same hour as 34.5 s until all are ready for Faultline.
`

// Benchmark implements benchmark.Provider.
func (Provider) Benchmark() benchmark.Suite {
	return benchmark.Suite{Machines: []int{upstreams}, Measure: measure, Scale: measureScale}
}

func plan(other string, scenarios []benchmark.Scenario) benchmark.Plan {
	return benchmark.Plan{Ours: cmp.Or(other, "Faultline"), Upstream: "CAPHV v0.10.1", Scenarios: scenarios, Notes: notes}
}

func measure(machines []int, other string) benchmark.Plan {
	var scenarios []benchmark.Scenario
	for _, n := range machines {
		scenarios = append(scenarios, scenario(n, watched, other))
	}
	neighbours := benchmark.Neighbours{One: "a Harvester"}
	neighbours.Start = func(ctx context.Context, e *benchmark.Environment, name string, delay time.Duration) (benchmark.Infrastructure, error) {
		s, fleet, err := start(ctx, e, name, other)
		if err == nil {
			s.harvester.Delay(delay)
		}
		return fleet, err
	}
	p := plan(other, append(scenarios, neighbours.Scenarios()...))
	p.Notes += benchmark.NoEffect()
	return p
}

// measureScale creates the machines once and does nothing else.
func measureScale(quantities *flag.FlagSet) func(other string) benchmark.Plan {
	machines := quantities.Int("machines", upstreams, "")
	watch := quantities.Duration("watch", 10*time.Minute, "")
	return func(other string) benchmark.Plan {
		only := scenario(*machines, *watch, other)
		// One machine every quarter of a second on a busy computer.
		only.Limit = benchmark.ScenarioLimit + time.Duration(*machines)*time.Second/4 + *watch
		return plan(other, []benchmark.Scenario{only})
	}
}

// scenario creates machines spread over the zones, and observes them once ready.
func scenario(machines int, watch time.Duration, other string) benchmark.Scenario {
	return benchmark.Scenario{
		Name: fmt.Sprintf("machines-%d", machines), Title: fmt.Sprintf("%d machines in %d zones", machines, len(zoneNames())),
		Run: func(ctx context.Context, e *benchmark.Environment) error {
			_, fleet, err := start(ctx, e, "bench", other)
			if err != nil {
				return err
			}
			making, err := e.Batch(ctx, fleet, machines)
			if err != nil {
				return err
			}
			idle, err := e.During(ctx, func() error { return provider.Pause(ctx, watch) })
			e.Add(rows(making, idle, watch)...)
			e.Detail("machines until they are ready", machines, making.Cost)
			e.Detail("idle machines", machines, idle)
			return err
		},
	}
}

func rows(b benchmark.Batch, idle benchmark.Cost, watch time.Duration) []benchmark.Row {
	work := benchmark.Except(benchmark.IsApart)
	upstream := func(row benchmark.Row, value string) benchmark.Row {
		if b.Machines != upstreams {
			return row
		}
		return row.WithUpstream(value)
	}
	return []benchmark.Row{
		upstream(benchmark.Figure("seconds until all are ready", "%.1f", b.Seconds), "46.5").Below(aimReady),
		upstream(benchmark.Figure("requests to Harvester a machine", "%.1f", b.Per(b.Calls.Sum(work))), "9.0").AtMost(aimCalls),
		upstream(benchmark.Figure("requests to Harvester in "+watch.String()+" of idling", "%.0f", float64(idle.Calls.Sum(work))), "40 a second").Zero(),
		benchmark.Figure("reopened watches of Harvester in that time", "%.0f", float64(idle.Calls.Sum(benchmark.IsApart))),
		upstream(benchmark.Figure("percent of a core that the manager took then", "%.1f", 100*idle.CPU/watch.Seconds()), "3.7"),
		upstream(benchmark.Figure("requests to the management cluster a machine", "%.1f", b.Per(b.Work())), "8.4"),
		upstream(benchmark.Figure("CPU-seconds of the manager", "%.1f", b.CPU), "3.7"),
		upstream(benchmark.Figure("MiB of the manager at its peak", "%.0f", float64(b.Peak)/benchmark.Mebibyte), "64").Below(aimMemory),
	}
}

// start starts a Harvester without delays, and a cluster on it. Requests are counted by verb and resource; watches only wait for changes.
func start(ctx context.Context, e *benchmark.Environment, name, other string) (*simulation, *benchmark.Fleet[*infrav1.HarvesterMachine], error) {
	options := []simulator.Option{simulator.WithAssets(e.Assets()), simulator.WithLayout(layout())}
	var change []func(*infrav1.HarvesterCluster)
	if other != "" {
		options, change = append(options, simulator.WithKubeVIP(simulator.KubeVIPEager)), append(change, forUpstream)
	}
	harvester, err := simulator.Run(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("starting the Harvester simulator: %w", err)
	}
	s := &simulation{harvester: harvester}
	e.OnStop(s.Close)
	e.CountCalls(func() benchmark.Counts {
		calls := benchmark.Counts{}
		for _, request := range harvester.Requests() {
			calls[request.Verb+" "+request.Resource]++
		}
		return calls
	}, benchmark.Except(benchmark.IsApart))
	cluster, err := CreateCluster(ctx, e.Client, name, harvester, change...)
	return s, &benchmark.Fleet[*infrav1.HarvesterMachine]{
		Client: e.Client, Cluster: cluster, Domains: zoneNames(), New: Machine, List: &infrav1.HarvesterMachineList{}, Placements: s.Machines,
		Done: func(m *infrav1.HarvesterMachine) bool { return ptr.Deref(m.Status.Initialization.Provisioned, false) },
	}, err
}

// forUpstream adapts a cluster to upstream's manager, which requires a load balancer. It waits for the load balancer's address before
// there is a backend, and only kube-vip before 1.2 assigns one in that state.
func forUpstream(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{}
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP}
}
