// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package demo

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/demo/internal/snapshot"
	"github.com/faultline-io/faultline/e2e/environment"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/writer"
)

const (
	namespace   = provider.DemoNamespace
	clusterName = "demo"
	// observeEvery is the refresh interval of the view.
	observeEvery = time.Second
	// diagnosisLimit bounds reading all objects after a failure, which a busy machine may have caused.
	diagnosisLimit = time.Minute
)

// demo is the state of one run.
type demo struct {
	*environment.Environment

	options  Options
	dir      string
	reporter *reporter
	began    time.Time

	about          provider.Description
	infrastructure provider.Simulation

	// life is the context of the steps and of background work.
	life context.Context //nolint:containedctx // The struct represents a run of the demo.
	// interrupted reports whether the context of Run has ended.
	interrupted func() bool

	scenario scenario
	cluster  client.ObjectKey
	objects  []*unstructured.Unstructured
	// withheld is the failure domain that the cluster does not have yet, later holds its objects, and listed is the cluster's list of
	// domains once it has the domain.
	withheld string
	later    []*unstructured.Unstructured
	listed   []any
	// deployment is the MachineDeployment of all workers, if there is only one.
	deployment string
	// placed holds the placement of the machines once the cluster was up, failed the machine that was replaced, and replacement its
	// replacement.
	placed              []string
	failed, replacement snapshot.Machine
	// client writes to the cluster in scenarios that need it.
	client *writer.Writer
}

func newDemo(ctx context.Context, options Options, dir string) (*demo, error) {
	builder, err := binaries.New(options.Out)
	if err != nil {
		return nil, err
	}
	told, err := scenarioOf(options.Scenario)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(told.check(options), options.check(builder.Root)); err != nil {
		return nil, err
	}
	s := emptyDemo(ctx, options, dir)
	s.about = options.Provider.Describe()
	s.Environment, err = environment.New(ctx, environment.Options{
		Provider: options.Provider, Infrastructure: s.simulate, Dir: dir, Progress: options.Out, Step: s.reporter.note, Log: ctrl.Log.WithName("workload"),
	})
	if err != nil {
		return nil, err
	}
	if s.scenario = told; told.withholds {
		s.withheld = s.about.Domains[len(s.about.Domains)-1]
	}
	if told.several {
		s.options.Flavor, s.about.BreakStops = s.about.Several, true
	}
	return s, nil
}

// emptyDemo returns a demo without programs.
func emptyDemo(ctx context.Context, options Options, dir string) *demo {
	s := &demo{
		options: options, dir: dir, began: time.Now(), life: ctx, cluster: client.ObjectKey{Namespace: namespace, Name: clusterName},
	}
	s.reporter = &reporter{out: options.Out, began: s.began}
	s.interrupted = func() bool { return ctx.Err() != nil }
	return s
}

// run runs the steps in order. A failure in the background work ends them as well.
func (d *demo) run(steps []step) error {
	for _, step := range steps {
		d.reporter.begin(step.name)
		err := step.within(d.life)
		d.reporter.end(err)
		if err != nil {
			return d.fail(step, err)
		}
	}
	return nil
}

// fail returns the error of a failed step with a diagnosis.
func (d *demo) fail(failed step, err error) error {
	if d.interrupted() {
		return &StepError{Step: failed.name, Err: ErrInterrupted}
	}
	failure := &StepError{Step: failed.name, Err: err, Logs: filepath.Join(d.dir, "logs")}
	if d.running() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(d.life), diagnosisLimit)
		defer cancel()
		failure.Diagnosis = d.diagnose(ctx)
	}
	return failure
}

func (d *demo) steps() []step {
	steps := []step{
		{"Start the management cluster", 5 * time.Minute, d.begin},
		{"Apply the templates", time.Minute, d.apply},
		{"Failure domains are ready", 2 * time.Minute, d.domainsReady},
		{"The cluster comes up", 6 * time.Minute, d.clusterUp},
		{"Machines are in their failure domains", time.Minute, d.checkSpread},
	}
	steps = append(steps, d.scenario.steps(d)...)
	if d.options.Keep {
		return steps
	}
	return append(steps, step{"The cluster is deleted and nothing is left", 4 * time.Minute, d.remove})
}

// simulate starts the simulated infrastructure of the cluster's machines.
func (d *demo) simulate(programs string) (_ provider.Infrastructure, err error) {
	if several, able := d.options.Provider.(provider.SeveralInfrastructures); able && d.scenario.several {
		d.infrastructure, err = several.SimulateSeveral()
	} else {
		d.infrastructure, err = d.options.Provider.Simulate(programs)
	}
	return d.infrastructure, err
}

// begin starts everything that the cluster needs. It runs until the demo ends.
func (d *demo) begin(context.Context) (err error) {
	if d.life, err = d.Start(d.life); err != nil {
		return err
	}
	d.Go(d.life, "a view", d.show) //nolint:contextcheck // It runs until the demo ends.
	return nil
}

// running reports whether the management cluster was started.
func (d *demo) running() bool { return d.Environment != nil && d.Management != nil }

// show refreshes the view periodically.
func (d *demo) show(ctx context.Context) error {
	tick := time.NewTicker(observeEvery)
	defer tick.Stop()
	for {
		if now, err := d.observe(ctx); err == nil {
			d.reporter.show(now)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
	}
}

// observe takes a snapshot.
func (d *demo) observe(ctx context.Context) (snapshot.Snapshot, error) {
	return snapshot.Take(ctx, d.Management.Client, d.cluster, d.domains(), d.infrastructure)
}

// until takes snapshots until nothing is missing.
func (d *demo) until(ctx context.Context, check func(context.Context, snapshot.Snapshot) (missing string, err error)) error {
	return provider.Until(ctx, func(ctx context.Context) (string, error) {
		now, err := d.observe(ctx)
		if err != nil {
			return "", err
		}
		return check(ctx, now)
	})
}
