// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demo shows a cluster over failure domains, with the real controllers on a simulated infrastructure: the cluster is created and
// spread over the domains, a domain breaks and is repaired, and the cluster is deleted. Every step is verified against the infrastructure
// itself.
package demo

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/go-logr/logr"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
)

// Options select the provider and what to show.
type Options struct {
	// Provider is the provider to show.
	Provider provider.DemoProvider
	// Flavor is the flavor of the provider's cluster template; "" is the default one.
	Flavor string
	// Scenario is the name of a scenario; "" is an outage.
	Scenario string
	// Keep leaves everything running before the cluster is deleted, or after a step failed, until the context ends.
	Keep bool
	// Out receives the output.
	Out io.Writer
}

// Run runs the demo. It returns nil if every step succeeded, and a *StepError if one failed; it then keeps the logs.
func Run(ctx context.Context, options Options) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	options.Out = &interrupting{out: options.Out, interrupt: stop}
	dir, err := os.MkdirTemp("", "faultline-")
	if err != nil {
		return fmt.Errorf("creating a directory for the demo: %w", err)
	}
	log, err := openLog(filepath.Join(dir, "logs"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	defer divertLogs(log)()
	err = runIn(ctx, options, dir, loggerTo(log))
	var failed *StepError
	if errors.As(err, &failed) && !errors.Is(err, ErrInterrupted) {
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// interrupting is an output that interrupts the demo when it cannot be written to, for example because `head` has ended: the demo then stops
// the programs that it has started.
type interrupting struct {
	out       io.Writer
	interrupt func()
}

func (i *interrupting) Write(text []byte) (int, error) {
	n, err := i.out.Write(text)
	if err != nil {
		i.interrupt()
	}
	return n, err
}

// runIn runs a demo that writes its files to a folder. Several may run at the same time.
func runIn(ctx context.Context, options Options, dir string, log logr.Logger) error {
	s, err := newDemo(ctx, options, dir, log)
	if err != nil {
		return err
	}
	err = s.run(s.steps()) //nolint:contextcheck // The demo derives its own context.
	if options.Keep {
		s.keep(err)
	}
	if err == nil {
		_, err = fmt.Fprint(options.Out, s.summary())
	}
	s.close()
	return err
}

// check validates the flavor before programs are built.
func (o Options) check(root string) error {
	about := o.Provider.Describe()
	if flavors, err := flavorsOf(root, about); err != nil || !slices.Contains(flavors, o.Flavor) {
		return errors.Join(err, fmt.Errorf("the templates of %s have no flavor %q: must be one of %s", about.Name, o.Flavor,
			strings.Join(flavors[min(1, len(flavors)):], ", ")))
	}
	return nil
}

// ErrInterrupted is the error of a step that was interrupted by the context of Run. Nothing is kept in that case.
var ErrInterrupted = errors.New("interrupted")

// startInfrastructure starts the simulated infrastructure of the cluster's machines.
func (d *demo) startInfrastructure() (err error) {
	if several, able := d.options.Provider.(provider.SeveralInfrastructures); able && d.scenario.several {
		d.infrastructure, err = several.SimulateSeveral()
	} else {
		d.infrastructure, err = d.options.Provider.Simulate(d.builder.AssetsDir())
	}
	if err != nil {
		return err
	}
	d.setup, err = d.infrastructure.Setup(d.dir)
	return err
}

// startManagement starts the management cluster and the simulator of the workload clusters.
func (d *demo) startManagement(ctx context.Context) error {
	source, version, err := d.builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	objects, err := d.options.Provider.Objects()
	if err != nil {
		return err
	}
	manager := completed(managementcluster.Provider(d.programs, d.builder.Root, d.about.Name), d.setup, objects)
	manager.Args = append(manager.Args, managementcluster.KubeadmVersion(version))
	components := append(managementcluster.ClusterAPI(d.programs, source, version), manager)
	for i := range components {
		components[i].Deployment = true // for kubectl fd version and preflight
	}
	d.management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: d.dir, Programs: d.programs, Progress: d.reporter.Note, Components: components,
	})
	if err != nil {
		return err
	}
	d.watchManagement()
	d.workload, err = workload.New(ctx, d.management.RESTConfig, workload.Options{Log: d.log})
	if err != nil {
		return fmt.Errorf("preparing workload clusters: %w", err)
	}
	d.background.Go(func() {
		if err := d.workload.Start(d.life); err != nil {
			d.end(fmt.Errorf("simulating workload clusters: %w", err))
		}
	})
	return d.join(ctx)
}

// join connects the infrastructure to the management cluster.
func (d *demo) join(ctx context.Context) error {
	run, err := d.infrastructure.Join(ctx, d.management, d.workload)
	if err != nil {
		return fmt.Errorf("preparing %s: %w", d.about.System, err)
	}
	if run != nil {
		d.background.Go(func() {
			if err := run(d.life); err != nil {
				d.end(fmt.Errorf("simulating %s: %w", d.about.System, err))
			}
		})
	}
	return nil
}

// watchManagement ends the demo when a process of the management cluster exits unexpectedly.
func (d *demo) watchManagement() {
	d.background.Go(func() {
		select {
		case <-d.management.Failed():
			d.end(d.management.Err())
		case <-d.life.Done():
		}
	})
}

// keep leaves everything running for inspection until the demo is interrupted or a process exits.
func (d *demo) keep(failed error) {
	if d.management == nil || d.life.Err() != nil {
		return
	}
	d.reporter.Begin("Everything keeps running; Ctrl-C stops and removes it")
	if failed != nil {
		for line := range strings.Lines(Explain(failed)) {
			d.reporter.Note(strings.TrimRight(line, "\n"))
		}
	}
	d.reporter.Note("in another shell:")
	d.reporter.Note("  export KUBECONFIG=" + d.management.Kubeconfig)
	for _, line := range d.setup.Access {
		d.reporter.Note("  " + line)
	}
	<-d.life.Done()
	d.reporter.End(d.management.Err())
}

// close stops everything, managers first.
func (d *demo) close() {
	if d.management != nil {
		d.management.Stop()
	}
	d.end(errEnded)
	d.background.Wait()
	if d.infrastructure != nil {
		d.infrastructure.Close()
	}
}

// errEnded is the cause of ending the background work after success.
var errEnded = errors.New("the demo has ended")
