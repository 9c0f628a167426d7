// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvester

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/utils/ptr"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/simulator"
)

// watched is for how long machines that are ready are looked at, unless asked for otherwise.
const watched = 30 * time.Second

// Results are the raw numbers of a run.
type Results struct {
	Provider string  `json:"provider"`
	Manager  string  `json:"manager,omitempty"` // if it is not ours
	CPUs     int     `json:"cpus"`
	Load     float64 `json:"load"`
	Batches  []Batch `json:"batches"`
	// Neighbours is nil if that was not measured.
	Neighbours *benchmark.Neighbours `json:"neighbours,omitempty"`
}

// Batch is what it took to make a number of machines at once.
type Batch struct {
	Machines int `json:"machines"`
	// Ready is after how many seconds the last machine was provisioned.
	Ready float64 `json:"readySeconds"`
	// Making is what it cost until then, and Idle what the time did that followed.
	Making  benchmark.Cost `json:"making"`
	Idle    benchmark.Cost `json:"idle"`
	Watched float64        `json:"watchedSeconds"`
	// Peak is the manager's memory in bytes at its highest.
	Peak int64 `json:"peakBytes"`
}

// Benchmark implements benchmark.Provider.
func (Provider) Benchmark() benchmark.Suite {
	return benchmark.Suite{Machines: []int{200}, Measure: measure, Scale: measureScale}
}

func newResults(b *benchmark.Runner) *Results {
	return &Results{Provider: b.Provider, Manager: b.Other, CPUs: goruntime.NumCPU(), Load: benchmark.Load()}
}

func measure(ctx context.Context, b *benchmark.Runner, machines []int) (benchmark.Outcome, error) {
	r := newResults(b)
	var errs []error
	for _, n := range machines {
		if ctx.Err() != nil {
			break
		}
		errs = append(errs, r.batch(ctx, b, n, watched))
	}
	r.Neighbours = &benchmark.Neighbours{Machines: neighbourMachines}
	errs = append(errs, r.Neighbours.Measure(ctx, b, newNeighbour))
	return r, errors.Join(errs...)
}

// batch is a scenario in which so many machines are made, and looked at when they are ready.
func (r *Results) batch(ctx context.Context, b *benchmark.Runner, machines int, watch time.Duration) error {
	return b.Scenario(ctx, fmt.Sprintf("machines-%d", machines), nil, func(ctx context.Context, e *benchmark.Environment) error {
		batch, err := makeBatch(ctx, e, machines, watch)
		if err == nil {
			r.Batches = append(r.Batches, batch)
		}
		return err
	})
}

// counted is the Harvester that the manager works with.
type counted struct{ *simulation }

// Calls implements benchmark.Counted.
func (c counted) Calls() benchmark.Counts { return c.simulation.Calls() }

// IsWork implements benchmark.Counted: watches only wait for changes.
func (counted) IsWork(call string) bool { return !benchmark.IsApart(call) }

// start starts a Harvester that does everything in no time, and a cluster on it.
func start(ctx context.Context, e *benchmark.Environment, name string) (*simulation, *provider.Cluster, error) {
	options := []simulator.Option{simulator.WithAssets(e.Runner.Assets()), simulator.WithLayout(layout())}
	var change []func(*infrav1.HarvesterCluster)
	if e.Runner.Other != "" {
		options, change = append(options, simulator.WithKubeVIP(simulator.KubeVIPEager)), append(change, forUpstream)
	}
	harvester, err := simulator.Run(ctx, options...)
	if err != nil {
		return nil, nil, fmt.Errorf("starting the Harvester simulator: %w", err)
	}
	s := &simulation{harvester: harvester}
	e.OnStop(s.Close)
	cluster, err := CreateCluster(ctx, e.Client, name, harvester, change...)
	return s, cluster, err
}

// forUpstream has a cluster be as upstream's manager needs it, which knows none without a load balancer. It waits for the address of that
// before anything is behind it, and only kube-vip before 1.2 gives one then.
func forUpstream(cluster *infrav1.HarvesterCluster) {
	cluster.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{}
	cluster.Spec.LoadBalancerConfig = infrav1.LoadBalancerConfig{IPAMType: infrav1.DHCP}
}

// makeBatch makes machines at once, over the zones, and looks at them for some time when they are ready.
func makeBatch(ctx context.Context, e *benchmark.Environment, machines int, watch time.Duration) (Batch, error) {
	s, cluster, err := start(ctx, e, "bench")
	if err != nil {
		return Batch{}, err
	}
	all, err := prepare(ctx, e, cluster, "bench", machines)
	if err != nil {
		return Batch{}, err
	}
	if err := e.Rest(ctx, counted{s}); err != nil {
		return Batch{}, err
	}
	batch := Batch{Machines: machines, Watched: watch.Seconds()}
	batch.Making, err = e.During(ctx, counted{s}, func() error {
		began := time.Now()
		if err := provision(ctx, e, all); err != nil {
			return err
		}
		batch.Ready = time.Since(began).Seconds()
		e.Progressf("%d machines are ready after %.1f s", machines, batch.Ready)
		return e.Rest(ctx, counted{s})
	})
	if err != nil {
		return Batch{}, err
	}
	batch.Idle, err = e.During(ctx, counted{s}, func() error { return provider.Pause(ctx, watch) })
	if err != nil {
		return Batch{}, err
	}
	_, batch.Peak, err = e.Memory()
	return batch, errors.Join(err, checkPlaces(ctx, s, all))
}

// prepare makes Machines with bootstrap data, spread over the zones, and returns their HarvesterMachines, which are still to be created.
func prepare(ctx context.Context, e *benchmark.Environment, cluster *provider.Cluster, prefix string, n int) ([]*infrav1.HarvesterMachine, error) {
	made, zones := make([]*infrav1.HarvesterMachine, n), zoneNames()
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce)
	for i := range made {
		group.Go(func() error {
			meta, err := cluster.CreateMachine(ctx, e.Client, fmt.Sprintf("%s-%04d", prefix, i), zones[i%len(zones)])
			made[i] = Machine(meta)
			return err
		})
	}
	return made, group.Wait()
}

// provision creates the HarvesterMachines and waits until all are provisioned.
func provision(ctx context.Context, e *benchmark.Environment, all []*infrav1.HarvesterMachine) error {
	names := make([]string, 0, len(all))
	for _, machine := range all {
		names = append(names, machine.Name)
	}
	w := benchmark.NewWaiting(names, func(m *infrav1.HarvesterMachine) bool { return ptr.Deref(m.Status.Initialization.Provisioned, false) })
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(provider.CreateAtOnce + 1)
	group.Go(func() error {
		return benchmark.Await(ctx, e.Client, &infrav1.HarvesterMachineList{}, all[0].Namespace, w)
	})
	for _, machine := range all {
		group.Go(func() error { return e.Client.Create(ctx, machine) })
	}
	return group.Wait()
}

// checkPlaces makes sure that each machine runs in its zone.
func checkPlaces(ctx context.Context, s *simulation, all []*infrav1.HarvesterMachine) error {
	placements, err := s.Machines(ctx)
	if err != nil {
		return err
	}
	zones := zoneNames()
	for i, machine := range all {
		at := slices.IndexFunc(placements, func(p provider.Placement) bool { return p.Name == machine.Name })
		if at < 0 || placements[at].Domain != zones[i%len(zones)] {
			return fmt.Errorf("checking places: machine %s is not in %s", machine.Name, zones[i%len(zones)])
		}
	}
	return nil
}
