// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package benchmark measures what a provider's manager costs: calls to the
// infrastructure, requests to the Kubernetes API, seconds, CPU and memory. It runs
// the manager's real program with default flags against a real API server and a
// simulated infrastructure. Cluster API's controllers do not run: the benchmark makes
// the objects that they would make, so that the numbers are the provider's alone.
package benchmark

import (
	"context"
	"errors"
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

// ScenarioLimit bounds a scenario. The longest ones take a minute on two CPUs that
// have nothing else to do.
const ScenarioLimit = 5 * time.Minute

// Options select what is measured.
type Options struct {
	// Provider is the one that is measured.
	Provider Provider
	// Machines are the numbers of machines that are made at once, one scenario for
	// each; none means those of the provider's aims.
	Machines []int
	// Scale, unless empty, measures what is large, of that size, in place of everything else.
	Scale string
	// Other, unless nil, is measured in the place of our manager.
	Other *provider.OtherManager
	// Out receives the table.
	Out io.Writer
	// Progress receives a line for each thing that takes time.
	Progress io.Writer
}

// Provider is one that can be measured.
type Provider interface {
	provider.Installed
	Benchmark() Suite
}

// Suite is what is measured of a provider.
type Suite struct {
	// Machines are the numbers that the aims are about.
	Machines []int
	// Measure has scenarios for numbers of machines. Other is the name of the program that is measured in the place of our manager,
	// which may need more of a cluster than ours does; "" is ours.
	Measure func(machines []int, other string) Plan
	// Scale measures a large infrastructure or many clusters.
	Scale func(size, other string) (Plan, error)
}

// Plan is what one run measures, one scenario after the other.
type Plan struct {
	// Ours and Upstream are the headings of the columns.
	Ours, Upstream string
	Scenarios      []Scenario
	Notes          string
}

// Scenario runs with a manager and an API server of its own, so that none finds another's memory or objects.
type Scenario struct {
	// Name is that of its folder, Title the heading of its part of the table.
	Name, Title string
	// Args are further arguments for the manager.
	Args []string
	// Limit is ScenarioLimit unless set.
	Limit time.Duration
	Run   func(ctx context.Context, e *Environment) error
}

// Run measures everything and writes the table. Its error names the measurements
// that could not be made; the others are in the table all the same. A missed aim is not
// an error.
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
		return suite.Scale(o.Scale, other)
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

// runner is what all scenarios share.
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
	dir, err := os.MkdirTemp("", "faultline-bench-")
	if err != nil {
		return nil, fmt.Errorf("making a folder for the benchmark: %w", err)
	}
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		return nil, err
	}
	return &runner{installation: installation, progress: options.Progress, dir: dir, provider: options.Provider.Describe().Name}, nil
}

// scenario runs one in a new environment. It fails if that takes too long or a process of the management cluster ends; its part of the
// report has no figures then.
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

// load is how many programs wanted a CPU in the last minute, 0 where the system does not report it. Times of a run that began with more
// than none mean little.
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
