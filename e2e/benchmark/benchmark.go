// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package benchmark measures the cost of a provider's manager: calls to the infrastructure, requests to the Kubernetes API, seconds, CPU
// and memory. It runs the real manager with default flags against a real API server and a simulated infrastructure. Cluster API's
// controllers do not run: the benchmark creates their objects, so the numbers include only the provider.
package benchmark

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"github.com/prometheus/procfs"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/provider"
)

// ScenarioLimit bounds a scenario. The longest ones take a minute on two idle CPUs.
const ScenarioLimit = 5 * time.Minute

// Options select what to measure.
type Options struct {
	// Provider is the provider to measure.
	Provider Provider
	// Machines lists the numbers of machines to create at once, with one scenario for each. Empty means the numbers of the provider's
	// targets.
	Machines []int
	// Scale, unless empty, replaces all other scenarios with a large-scale one of this size.
	Scale string
	// Other, unless nil, is measured instead of our manager.
	Other *provider.OtherManager
	// Out receives the table.
	Out io.Writer
	// Progress receives a line for each step that takes time.
	Progress io.Writer
}

// Provider is a provider that can be measured.
type Provider interface {
	provider.Provider
	Benchmark() Suite
}

// Suite holds a provider's measurements.
type Suite struct {
	// Machines lists the numbers of machines that the targets apply to.
	Machines []int
	// Measure returns the scenarios for these numbers of machines. Other is the name of the program to measure instead of our manager,
	// which may need more of a cluster than ours does; "" measures our manager.
	Measure func(machines []int, other string) Plan
	// Scale defines the quantities of scenarios with a large infrastructure or many clusters, numbers and durations with their defaults. It
	// returns a function like Measure, which is called once they are set.
	Scale func(quantities *flag.FlagSet) func(other string) Plan
}

// Plan holds the scenarios of one run, in order.
type Plan struct {
	// Ours and Upstream are the column headings.
	Ours, Upstream string
	Scenarios      []Scenario
	Notes          string
}

// Scenario runs with its own manager and API server, so that it is not affected by the memory or objects of another scenario.
type Scenario struct {
	// Name is the name of the scenario's folder, Title the heading of its section in the table.
	Name, Title string
	// Args are additional arguments for the manager.
	Args []string
	// Limit defaults to ScenarioLimit.
	Limit time.Duration
	Run   func(ctx context.Context, e *Environment) error
}

// Run measures everything and writes the table. Its error names the measurements that failed; the table still has the others. A missed
// target is not an error.
func Run(ctx context.Context, options Options) error {
	plan, err := options.plan()
	if err != nil {
		return fmt.Errorf("starting the benchmark: %w", err)
	}
	ctrl.SetLogger(logr.Discard())
	b, err := newRunner(ctx, options)
	if err != nil {
		return err
	}
	results := report{rows: []Row{{Name: "", Ours: plan.Ours, Upstream: plan.Upstream, Aim: "aim"}}, notes: plan.Notes}
	load := load()
	var failed []error
	for _, scenario := range plan.Scenarios {
		if ctx.Err() != nil {
			return errors.Join(context.Cause(ctx), os.RemoveAll(b.dir))
		}
		failed = append(failed, b.scenario(ctx, scenario, &results))
	}
	const heading = "Provider %s on %d CPUs, shared with etcd, kube-apiserver and the simulated infrastructure; load before: %.1f\n\n%s"
	_, err = fmt.Fprintf(options.Out, heading, b.provider, runtime.NumCPU(), load, results.text())
	if err := errors.Join(append(failed, err)...); err != nil {
		return fmt.Errorf("%w\n(logs: %s)", err, b.dir)
	}
	return os.RemoveAll(b.dir)
}

func (o Options) plan() (Plan, error) {
	suite, other := o.Provider.Benchmark(), ""
	if o.Other != nil {
		other = filepath.Base(o.Other.Program)
	}
	if o.Scale != "" {
		quantities := flag.NewFlagSet("scale", flag.ContinueOnError)
		plan := suite.Scale(quantities)
		if err := parseScale(o.Scale, quantities); err != nil {
			return Plan{}, err
		}
		return plan(other), nil
	}
	machines := o.Machines
	if len(machines) == 0 {
		machines = suite.Machines
	}
	if slices.Min(machines) < 1 {
		return Plan{}, fmt.Errorf("numbers of machines must be 1 or more, not %v", machines)
	}
	return suite.Measure(machines, other), nil
}

// runner holds the state that all scenarios share.
type runner struct {
	installation *provider.Installation
	progress     io.Writer
	dir          string
	provider     string
}

func newRunner(ctx context.Context, options Options) (*runner, error) {
	installation, err := provider.Install(ctx, options.Provider, options.Progress)
	if err != nil {
		return nil, err
	}
	installation.Other = options.Other
	dir, err := provider.LogFolder("bench")
	return &runner{installation: installation, progress: options.Progress, dir: dir, provider: options.Provider.Describe().Name}, err
}

// scenario runs a scenario in a new environment. It fails if that takes too long or a process of the management cluster ends; its section
// of the report then has no figures.
func (b *runner) scenario(ctx context.Context, s Scenario, into *report) error {
	e, err := b.start(ctx, s)
	if err == nil {
		err = e.run(ctx, s)
		e.stop()
	}
	if err != nil {
		_, _ = fmt.Fprintf(b.progress, "%s: failed\n", s.Name)
		into.rows = append(into.rows, Row{Name: s.Title}, Row{Name: s.Name, Ours: unmeasured, Upstream: none, Aim: none})
		return fmt.Errorf("%s: %w", s.Name, err)
	}
	into.add(e.report)
	return nil
}

func (e *Environment) run(ctx context.Context, s Scenario) error {
	limit := s.Limit
	if limit == 0 {
		limit = ScenarioLimit
	}
	limited, cancel := context.WithTimeoutCause(ctx, limit, fmt.Errorf("not done after %s", limit))
	defer cancel()
	alive, end := context.WithCancelCause(limited)
	defer end(nil)
	go func() {
		select {
		case <-e.Management.Failed():
			end(e.Management.Err())
		case <-alive.Done():
		}
	}()
	if err := e.awaitMetrics(alive); err != nil {
		return err
	}
	if s.Title != "" {
		e.Section(s.Title)
	}
	return s.Run(alive, e)
}

// load returns the load average of the last minute, or 0 if the system does not report it. Times are unreliable if the run began on a
// busy system.
func load() float64 {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return 0
	}
	average, err := fs.LoadAvg()
	if err != nil {
		return 0
	}
	return average.Load1
}
