// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package bench measures what a provider's manager costs: calls to the
// infrastructure, requests to the Kubernetes API, seconds, CPU and memory. It runs
// the manager's real program with default flags against a real API server and a
// simulated infrastructure. Cluster API's controllers do not run: the bench makes
// the objects that they would make, so that the numbers are the provider's alone.
package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/alone"
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

// Options say what is measured.
type Options struct {
	// Provider is a folder of providers/.
	Provider string
	// Machines are the numbers of machines that are made at once, one scenario for
	// each; none means those of the provider's aims.
	Machines []int
	// Scale, unless nil, measures a large vCenter in place of everything else.
	Scale *Scale
	// Out receives the table.
	Out io.Writer
	// Progress receives a line for each thing that takes time.
	Progress io.Writer
	// JSON, unless "", is a file for the raw numbers.
	JSON string
}

// Run measures everything and writes the table. Its error says which measurements
// could not be made; the others are in the table all the same. A missed aim is not
// an error.
func Run(ctx context.Context, options Options) error {
	s, ok := suites()[options.Provider]
	if !ok {
		return fmt.Errorf("starting the bench: there is no simulated infrastructure for provider %q; there are metal3 and vsphere", options.Provider)
	}
	if len(options.Machines) == 0 {
		options.Machines = s.machines
	}
	if options.Scale != nil && options.Provider != "vsphere" {
		return errors.New("starting the bench: the scale scenario is of provider vsphere only")
	}
	if slices.Min(options.Machines) < 1 {
		return fmt.Errorf("starting the bench: numbers of machines are to be 1 or more, not %v", options.Machines)
	}
	ctrl.SetLogger(logr.Discard())
	b, err := newBench(ctx, options)
	if err != nil {
		return err
	}
	measure := func() (outcome, error) { return s.measure(ctx, b, options.Machines) }
	if options.Scale != nil {
		measure = func() (outcome, error) { return b.measureScale(ctx, *options.Scale) }
	}
	results, failed := measure()
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), os.RemoveAll(b.dir))
	}
	if err := writeJSON(options.JSON, results); err != nil {
		return err
	}
	if _, err := io.WriteString(options.Out, results.report()); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("%w\n(logs: %s)", failed, b.dir)
	}
	return os.RemoveAll(b.dir)
}

// suite is what is measured of a provider.
type suite struct {
	// machines are the numbers that the aims are about.
	machines []int
	provider alone.Provider
	measure  func(ctx context.Context, b *bench, machines []int) (outcome, error)
}

// outcome is what was measured, to be written as JSON or as a text.
type outcome interface{ report() string }

func suites() map[string]suite {
	return map[string]suite{
		"vsphere": {
			machines: []int{1, 10, 100}, provider: alone.VSphere(),
			measure: func(ctx context.Context, b *bench, vms []int) (outcome, error) { return b.measure(ctx, vms) },
		},
		"metal3": {
			machines: []int{200, 1000}, provider: alone.Metal3(),
			measure: func(ctx context.Context, b *bench, machines []int) (outcome, error) {
				return b.measureHosts(ctx, machines)
			},
		},
	}
}

// bench is what all scenarios share.
type bench struct {
	installation *alone.Installation
	progress     io.Writer
	dir          string
	provider     string
	limit        time.Duration // of a scenario
}

func newBench(ctx context.Context, options Options) (*bench, error) {
	installation, err := alone.Install(ctx, suites()[options.Provider].provider, options.Progress)
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "faultline-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the bench: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	return &bench{installation: installation, progress: options.Progress, dir: dir, provider: options.Provider, limit: scenarioLimit}, nil
}

func (b *bench) progressf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...)
}

// report words the results.
func (r Results) report() string { return Report(r) }

// measure runs the scenarios one after the other, each with a manager and an API
// server of its own, so that none finds another's memory or objects. One that
// fails leaves its part of the results empty.
func (b *bench) measure(ctx context.Context, vms []int) (Results, error) {
	r := Results{Provider: b.provider, CPUs: goruntime.NumCPU(), Load: load()}
	var errs []error
	run := func(name string, args []string, scenario func(context.Context, *lab) error) {
		if ctx.Err() == nil {
			errs = append(errs, b.scenario(ctx, name, args, scenario))
		}
	}
	run("create-vcsim", nil, func(ctx context.Context, l *lab) (err error) {
		r.Stock, err = l.rollout(ctx, slices.Max(vms), simulator.WithStockCollector())
		return err
	})
	for _, n := range vms {
		run(fmt.Sprintf("create-%d", n), nil, func(ctx context.Context, l *lab) error {
			rollout, err := l.rollout(ctx, n)
			if err == nil {
				r.Rollouts = append(r.Rollouts, rollout)
			}
			return err
		})
	}
	run("idle", []string{"--sync-period=" + syncPeriod.String()}, func(ctx context.Context, l *lab) (err error) {
		r.Idle, err = l.idle(ctx, slices.Max(vms))
		return err
	})
	run("zones", nil, func(ctx context.Context, l *lab) (err error) {
		r.Zones, err = l.zones(ctx)
		return err
	})
	r.Neighbour.VMs, r.Neighbour.Delay = neighbourVMs, neighbourDelay.Seconds()
	run("alone", nil, func(ctx context.Context, l *lab) error {
		times, err := l.neighbours(ctx, vcenters{"first": 0})
		r.Neighbour.Alone = times["first"]
		return err
	})
	run("fast-neighbour", nil, func(ctx context.Context, l *lab) error {
		times, err := l.neighbours(ctx, vcenters{"first": 0, "second": 0})
		r.Neighbour.BesideFast = times["first"]
		return err
	})
	run("slow-neighbour", nil, func(ctx context.Context, l *lab) error {
		times, err := l.neighbours(ctx, vcenters{"first": 0, "second": neighbourDelay})
		r.Neighbour.Beside, r.Neighbour.Slow = times["first"], times["second"]
		return err
	})
	return r, errors.Join(errs...)
}

// rollout makes n VMs at once.
func (l *lab) rollout(ctx context.Context, n int, opts ...simulator.Option) (Rollout, error) {
	w, err := l.world(ctx, "bench", opts...)
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
	rss, peak, err := l.memory()
	return Rollout{VMs: n, Ready: ready.Seconds(), Cost: cost, RSS: rss, Peak: peak}, err
}

// connected waits until the zones of a world are ready, and answers what that cost.
func (l *lab) connected(ctx context.Context, w *world) (Cost, error) {
	if err := w.zonesReady(ctx); err != nil {
		return Cost{}, err
	}
	if err := l.rest(ctx, w); err != nil {
		return Cost{}, err
	}
	return l.sample(ctx, w)
}

// create makes n VMs and answers how long it took until the last was ready, and
// what it cost until the manager had come to rest.
func (l *lab) create(ctx context.Context, w *world, n int) (time.Duration, Cost, error) {
	machines, err := w.prepare(ctx, n)
	if err != nil {
		return 0, Cost{}, err
	}
	if err := l.rest(ctx, w); err != nil {
		return 0, Cost{}, err
	}
	var ready time.Duration
	cost, err := l.during(ctx, w, func() (err error) {
		if ready, err = w.provision(ctx, machines); err != nil {
			return err
		}
		l.bench.progressf("%s: %d VMs ready after %.1f s", l.name, n, ready.Seconds())
		return l.rest(ctx, w)
	})
	return ready, cost, err
}

// idle looks at n ready VMs for some sync periods, and then gives the manager a
// reason to look at each of them.
func (l *lab) idle(ctx context.Context, n int) (Idle, error) {
	w, err := l.world(ctx, "bench")
	if err != nil {
		return Idle{}, err
	}
	if err := w.zonesReady(ctx); err != nil {
		return Idle{}, err
	}
	if _, _, err := l.create(ctx, w, n); err != nil {
		return Idle{}, err
	}
	l.bench.progressf("%s: watching %d idle VMs for %s", l.name, n, idlePeriods*syncPeriod)
	result := Idle{VMs: n, Periods: idlePeriods, SyncPeriod: syncPeriod.Seconds()}
	if result.Cost, err = l.during(ctx, w, func() error { return pause(ctx, idlePeriods*syncPeriod) }); err != nil {
		return Idle{}, err
	}
	result.Touched, err = l.during(ctx, w, func() error {
		if err := w.touchVMs(ctx); err != nil {
			return err
		}
		return l.rest(ctx, w)
	})
	if err != nil {
		return Idle{}, err
	}
	return result, nil
}

// during answers what the manager did while something happened.
func (l *lab) during(ctx context.Context, w infrastructure, happens func() error) (Cost, error) {
	before, err := l.sample(ctx, w)
	if err != nil {
		return Cost{}, err
	}
	if err := happens(); err != nil {
		return Cost{}, err
	}
	after, err := l.sample(ctx, w)
	return after.minus(before), err
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-time.After(d):
		return nil
	}
}

// zones has the zones checked: for the first time, because their objects were
// touched, and because the inventory changed, after which nothing that was read of
// tags holds.
func (l *lab) zones(ctx context.Context) (Zones, error) {
	w, err := l.world(ctx, "bench")
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
	return Zones{First: first.checks(len(w.zones)), Touched: touched, Changed: changed}, nil
}

// checks answers what the zone checks that something calls for cost altogether.
func (l *lab) checks(ctx context.Context, w *world, times int, cause func(context.Context, int) error) (Checks, error) {
	cost, err := l.during(ctx, w, func() error {
		for i := range times {
			if err := cause(ctx, i); err != nil {
				return err
			}
			if err := l.rest(ctx, w); err != nil {
				return err
			}
		}
		return nil
	})
	return cost.checks(times * len(w.zones)), err
}

// checks tells what the cost of so many checks was that had a reason.
func (c Cost) checks(due int) Checks {
	return Checks{Due: due, Done: c.Reconciles[zoneController], Cost: c}
}

func writeJSON(path string, results outcome) error {
	if path == "" {
		return nil
	}
	content, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, append(content, '\n'), 0o644); err != nil {
		return fmt.Errorf("writing the raw numbers: %w", err)
	}
	return nil
}
