// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package demo shows a cluster over failure domains, with the
// real controllers on a simulated infrastructure: it comes up spread over the
// domains, one of them breaks and is repaired, the cluster goes. Every step is
// checked against what the infrastructure itself says.
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

// Options say which provider is shown, and how.
type Options struct {
	// Provider is the one that is shown.
	Provider provider.InDemo
	// Flavor of the provider's cluster template; "" is the plain one.
	Flavor string
	// Story is what happens to the cluster; "" is an outage.
	Story string
	// Keep leaves everything running before the cluster would be deleted, or when
	// a step failed, until the context ends.
	Keep bool
	// Out is where it is shown.
	Out io.Writer
}

// Run tells the demo. It returns nil if every step turned out well, and an error
// that is a *StepError if one did not; logs are left in place then.
func Run(ctx context.Context, options Options) error {
	dir, err := os.MkdirTemp("", "faultline-")
	if err != nil {
		return fmt.Errorf("making a folder for the demo: %w", err)
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

// runIn runs a demo that keeps what it writes in a folder. Several may run at a time.
func runIn(ctx context.Context, options Options, dir string, log logr.Logger) error {
	s, err := newDemo(ctx, options, dir, log)
	if err != nil {
		return err
	}
	err = s.run(s.steps()) //nolint:contextcheck // The demo has a context of its own, made from this one.
	if options.Keep {
		s.keep(err)
	}
	if err == nil {
		_, err = fmt.Fprint(options.Out, s.summary())
	}
	s.close()
	return err
}

// check finds out whether there is such a flavor, before programs are built for it.
func (o Options) check(root string) error {
	about := o.Provider.Describe()
	if flavors, err := flavorsOf(root, about); err != nil || !slices.Contains(flavors, o.Flavor) {
		return errors.Join(err, fmt.Errorf("the templates of %s have no flavor %q: it is one of %s", about.Name, o.Flavor,
			strings.Join(flavors[min(1, len(flavors)):], ", ")))
	}
	return nil
}

// ErrInterrupted is why a step did not end when the context of Run did. Nothing is
// left in place then.
var ErrInterrupted = errors.New("interrupted")

// startInfrastructure starts what the cluster's machines will be on.
func (d *demo) startInfrastructure() (err error) {
	if d.infrastructure, err = d.options.Provider.Simulate(d.builder.AssetsDir()); err != nil {
		return err
	}
	d.setup, err = d.infrastructure.Setup(d.dir)
	return err
}

// startManagement starts the management cluster and, beside it, the simulator of what
// runs on the machines.
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
	d.management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: d.dir, Programs: d.programs, Progress: d.reporter.Note,
		Components: append(managementcluster.ClusterAPI(d.programs, source, version), manager),
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

// join lets the infrastructure play its part in the management cluster.
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

// watchManagement ends the demo with the first process of the management cluster that exits unexpectedly.
func (d *demo) watchManagement() {
	d.background.Go(func() {
		select {
		case <-d.management.Failed():
			d.end(d.management.Err())
		case <-d.life.Done():
		}
	})
}

// keep leaves everything running, to be looked at and played with, until it is
// interrupted or something of it dies.
func (d *demo) keep(failed error) {
	if d.management == nil || d.life.Err() != nil {
		return
	}
	d.reporter.Begin("Left running; Ctrl-C stops it and removes everything")
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

// close stops everything, the managers before what they talk to.
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

// errEnded is why the background work ends when all went well.
var errEnded = errors.New("the demo is over")
