// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vsphere

import (
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/faultline-io/faultline/e2e/benchmark"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/providers/vsphere/simulator"
)

const (
	// syncPeriod is how often the manager of the idle scenario reconciles all it
	// has without a reason, and idlePeriods for how many of them it is watched.
	syncPeriod  = 10 * time.Second
	idlePeriods = 3
	// touches is how often every zone is checked again.
	touches = 10
	// disturbances is how often the inventory changes under the zones.
	disturbances = 5
)

// suite measures both.
func suite() benchmark.Suite {
	return benchmark.Suite{Machines: []int{1, 10, 100}, Measure: measure, Scale: measureScale}
}

// scenario is what one runs in.
type scenario struct{ *benchmark.Environment }

// measure runs the scenarios one after the other, each with a manager and an API
// server of its own, so that none finds another's memory or objects. One that
// fails leaves its part of the results empty.
func measure(ctx context.Context, b *benchmark.Runner, vms []int) (benchmark.Outcome, error) {
	r := Results{Provider: b.Provider, CPUs: goruntime.NumCPU(), Load: benchmark.Load()}
	var errs []error
	run := func(name string, args []string, do func(context.Context, scenario) error) {
		if ctx.Err() == nil {
			errs = append(errs, b.Scenario(ctx, name, args, func(ctx context.Context, l *benchmark.Environment) error { return do(ctx, scenario{l}) }))
		}
	}
	run("create-vcsim", nil, func(ctx context.Context, l scenario) (err error) {
		r.Stock, err = l.rollout(ctx, slices.Max(vms), simulator.WithStockCollector())
		return err
	})
	for _, n := range vms {
		run(fmt.Sprintf("create-%d", n), nil, func(ctx context.Context, l scenario) error {
			rollout, err := l.rollout(ctx, n)
			if err == nil {
				r.Rollouts = append(r.Rollouts, rollout)
			}
			return err
		})
	}
	run("idle", []string{"--sync-period=" + syncPeriod.String()}, func(ctx context.Context, l scenario) (err error) {
		r.Idle, err = l.idle(ctx, slices.Max(vms))
		return err
	})
	run("zones", nil, func(ctx context.Context, l scenario) (err error) {
		r.Zones, err = l.zones(ctx)
		return err
	})
	r.Neighbours.Machines = neighbourVMs
	errs = append(errs, r.Neighbours.Measure(ctx, b, newNeighbour))
	return r, errors.Join(errs...)
}

// rollout makes n VMs at once.
func (l scenario) rollout(ctx context.Context, n int, opts ...simulator.Option) (Rollout, error) {
	w, err := l.setUp(ctx, "bench", opts...)
	if err != nil {
		return Rollout{}, err
	}
	if err := w.zonesReady(ctx); err != nil {
		return Rollout{}, err
	}
	ready, cost, err := l.create(ctx, w, n)
	if err != nil {
		return Rollout{}, err
	}
	rss, peak, err := l.Memory()
	return Rollout{VMs: n, Ready: ready.Seconds(), Cost: cost, RSS: rss, Peak: peak}, err
}

// connected waits until the zones of a setup are ready, and answers what that cost.
func (l scenario) connected(ctx context.Context, w *setup) (benchmark.Cost, error) {
	if err := w.zonesReady(ctx); err != nil {
		return benchmark.Cost{}, err
	}
	if err := l.Rest(ctx, w); err != nil {
		return benchmark.Cost{}, err
	}
	return l.Sample(ctx, w)
}

// create makes n VMs and answers how long it took until the last was ready, and
// what it cost until the manager had come to rest.
func (l scenario) create(ctx context.Context, w *setup, n int) (time.Duration, benchmark.Cost, error) {
	machines, err := w.prepare(ctx, n)
	if err != nil {
		return 0, benchmark.Cost{}, err
	}
	if err := l.Rest(ctx, w); err != nil {
		return 0, benchmark.Cost{}, err
	}
	var ready time.Duration
	cost, err := l.During(ctx, w, func() (err error) {
		if ready, err = w.provision(ctx, machines); err != nil {
			return err
		}
		l.Progressf("%d VMs ready after %.1f s", n, ready.Seconds())
		return l.Rest(ctx, w)
	})
	return ready, cost, err
}

// idle looks at n ready VMs for some sync periods, and then gives the manager a
// reason to look at each of them.
func (l scenario) idle(ctx context.Context, n int) (Idle, error) {
	w, err := l.setUp(ctx, "bench")
	if err != nil {
		return Idle{}, err
	}
	if err := w.zonesReady(ctx); err != nil {
		return Idle{}, err
	}
	if _, _, err := l.create(ctx, w, n); err != nil {
		return Idle{}, err
	}
	l.Progressf("watching %d idle VMs for %s", n, idlePeriods*syncPeriod)
	result := Idle{VMs: n, Periods: idlePeriods, SyncPeriod: syncPeriod.Seconds()}
	if result.Cost, err = l.During(ctx, w, func() error { return provider.Pause(ctx, idlePeriods*syncPeriod) }); err != nil {
		return Idle{}, err
	}
	result.Touched, err = l.During(ctx, w, func() error {
		if err := w.touchVMs(ctx); err != nil {
			return err
		}
		return l.Rest(ctx, w)
	})
	if err != nil {
		return Idle{}, err
	}
	return result, nil
}

// zones has the zones checked: for the first time, because their objects were
// touched, and because the inventory changed, after which nothing that was read of
// tags holds.
func (l scenario) zones(ctx context.Context) (Zones, error) {
	w, err := l.setUp(ctx, "bench")
	if err != nil {
		return Zones{}, err
	}
	first, err := l.connected(ctx, w)
	if err != nil {
		return Zones{}, err
	}
	touched, err := l.checks(ctx, w, touches, w.touchZones)
	if err != nil {
		return Zones{}, err
	}
	changed, err := l.checks(ctx, w, disturbances, w.disturb)
	if err != nil {
		return Zones{}, err
	}
	return Zones{First: checksOf(first, len(w.zones)), Touched: touched, Changed: changed}, nil
}

// checks answers what the zone checks that something calls for cost altogether.
func (l scenario) checks(ctx context.Context, w *setup, times int, cause func(context.Context, int) error) (Checks, error) {
	cost, err := l.During(ctx, w, func() error {
		for i := range times {
			if err := cause(ctx, i); err != nil {
				return err
			}
			if err := l.Rest(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	return checksOf(cost, times*len(w.zones)), err
}

// checksOf tells what the cost of so many checks was that had a reason.
func checksOf(c benchmark.Cost, due int) Checks {
	return Checks{Due: due, Done: c.Reconciles[zoneController], Cost: c}
}
