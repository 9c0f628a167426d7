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
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/provider"
)

// Options say what is measured.
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
	// JSON, unless "", is a file for the raw numbers.
	JSON string
}

// Run measures everything and writes the table. Its error says which measurements
// could not be made; the others are in the table all the same. A missed aim is not
// an error.
func Run(ctx context.Context, options Options) error {
	suite := options.Provider.Benchmark()
	if len(options.Machines) == 0 {
		options.Machines = suite.Machines
	}
	if options.Scale != "" && suite.Scale == nil {
		return fmt.Errorf("starting the benchmark: provider %s has no scale scenario", options.Provider.Describe().Name)
	}
	if slices.Min(options.Machines) < 1 {
		return fmt.Errorf("starting the benchmark: numbers of machines are to be 1 or more, not %v", options.Machines)
	}
	ctrl.SetLogger(logr.Discard())
	b, err := newRunner(ctx, options)
	if err != nil {
		return err
	}
	measure := func() (Outcome, error) { return suite.Measure(ctx, b, options.Machines) }
	if options.Scale != "" {
		measure = func() (Outcome, error) { return suite.Scale(ctx, b, options.Scale) }
	}
	results, failed := measure()
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), os.RemoveAll(b.dir))
	}
	if err := writeJSON(options.JSON, results); err != nil {
		return err
	}
	if _, err := io.WriteString(options.Out, results.Report()); err != nil {
		return err
	}
	if failed != nil {
		return fmt.Errorf("%w\n(logs: %s)", failed, b.dir)
	}
	return os.RemoveAll(b.dir)
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
	Measure  func(ctx context.Context, b *Runner, machines []int) (Outcome, error)
	// Scale measures a large infrastructure or many clusters; nil if there is nothing that grows with them.
	Scale func(ctx context.Context, b *Runner, size string) (Outcome, error)
}

// Outcome is what was measured, to be written as JSON or as a text.
type Outcome interface{ Report() string }

// Runner is what all scenarios share.
type Runner struct {
	installation *provider.Installation
	progress     io.Writer
	dir          string
	Provider     string
	Limit        time.Duration // of a scenario
	// Other is the name of the program that is measured in the place of our manager, which may need more of a cluster than ours does; else "".
	Other string
}

func newRunner(ctx context.Context, options Options) (*Runner, error) {
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
	r := &Runner{installation: installation, progress: options.Progress, dir: dir, Provider: options.Provider.Describe().Name, Limit: ScenarioLimit}
	if options.Other != nil {
		r.Other = filepath.Base(options.Other.Program)
	}
	return r, nil
}

// Assets is the folder with the programs that a simulation runs.
func (b *Runner) Assets() string { return b.installation.Assets }

// Progressf tells how far it is.
func (b *Runner) Progressf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, format+"\n", args...)
}

// During answers what the manager did while something happened.
func (e *Environment) During(ctx context.Context, w Counted, happens func() error) (Cost, error) {
	before, err := e.Sample(ctx, w)
	if err != nil {
		return Cost{}, err
	}
	if err := happens(); err != nil {
		return Cost{}, err
	}
	after, err := e.Sample(ctx, w)
	return after.Minus(before), err
}

// Kill ends the manager in the middle of whatever it does.
func (e *Environment) Kill() error {
	return e.Management.Kill(binaries.Provider(e.Runner.Provider))
}

// FromStart starts the manager, which has been killed, and returns what it did from its start until something had happened.
func (e *Environment) FromStart(ctx context.Context, w Counted, happens func() error) (Cost, error) {
	before, err := e.asked(w)
	if err != nil {
		return Cost{}, err
	}
	ready, err := e.Management.Restart(ctx, binaries.Provider(e.Runner.Provider))
	if err != nil {
		return Cost{}, err
	}
	if err := ready(ctx); err != nil {
		return Cost{}, err
	}
	if err := e.counts(ctx, w); err != nil {
		return Cost{}, err
	}
	if err := happens(); err != nil {
		return Cost{}, err
	}
	after, err := e.Sample(ctx, w)
	return after.Minus(before), err
}

// counts waits until the manager, which is ready, counts what it does: its controllers start later.
func (e *Environment) counts(ctx context.Context, w Counted) error {
	var last error
	err := wait.PollUntilContextCancel(ctx, provider.LookEvery, true, func(ctx context.Context) (bool, error) {
		_, last = e.Sample(ctx, w)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for the manager's controllers: %w: %w", provider.Because(ctx, err), last)
	}
	return nil
}

func writeJSON(path string, results Outcome) error {
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
