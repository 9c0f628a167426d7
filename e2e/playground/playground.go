// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package playground tells the story of a cluster over failure domains, with the
// real controllers on a simulated infrastructure: it comes up spread over the
// domains, one of them breaks and is mended, the cluster goes. Every step is
// checked against what the infrastructure itself says.
package playground

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

// Options say which story is told, and how.
type Options struct {
	// Provider is the one that is shown.
	Provider provider.Provider
	// Flavor of the provider's cluster template; "" is the plain one.
	Flavor string
	// Keep leaves everything running before the cluster would be deleted, or when
	// a step failed, until the context ends.
	Keep bool
	// Out is where the story is told.
	Out io.Writer
	// Size, unless nil, makes Out a terminal that is painted anew all the time; it
	// answers how many columns and rows it has.
	Size func() (columns, rows int)
}

// Run tells the story. It returns nil if every step turned out well, and an error
// that is a *StepError if one did not; logs are left in place then.
func Run(ctx context.Context, options Options) error {
	dir, err := os.MkdirTemp("", "faultline-")
	if err != nil {
		return fmt.Errorf("making a folder for the playground: %w", err)
	}
	log, err := openLog(filepath.Join(dir, "logs"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	defer divertLogs(log)()
	err = tellIn(ctx, options, dir, loggerTo(log))
	var failed *StepError
	if errors.As(err, &failed) && !errors.Is(err, ErrInterrupted) {
		return err
	}
	return errors.Join(err, os.RemoveAll(dir))
}

// tellIn tells a story that keeps what it writes in a folder. Several may be told at a time.
func tellIn(ctx context.Context, options Options, dir string, log logr.Logger) error {
	s, err := newStory(ctx, options, dir, log)
	if err != nil {
		return err
	}
	err = s.tell(s.steps()) //nolint:contextcheck // The story has a context of its own, made from this one.
	if options.Keep {
		s.keep(err)
	}
	s.reporter.close()
	if err == nil {
		_, err = fmt.Fprint(options.Out, s.summary())
	}
	s.close()
	return err
}

// check finds out whether there is such a flavor, before programs are built for it.
func (o Options) check(root string) error {
	name := o.Provider.Describe().Name
	if flavors, err := flavorsOf(root, name); err != nil || !slices.Contains(flavors, o.Flavor) {
		return errors.Join(err, fmt.Errorf("the templates of %s have no flavor %q: it is one of %s", name, o.Flavor,
			strings.Join(flavors[min(1, len(flavors)):], ", ")))
	}
	return nil
}

// ErrInterrupted is why a step did not end when the context of Run did. Nothing is
// left in place then.
var ErrInterrupted = errors.New("interrupted")

// startInfrastructure starts what the cluster's machines will be on.
func (s *story) startInfrastructure() (err error) {
	if s.infrastructure, err = s.options.Provider.Simulate(); err != nil {
		return err
	}
	s.setup, err = s.infrastructure.Setup(s.dir)
	return err
}

// startManagement starts the management cluster and, beside it, the simulator of what
// runs on the machines.
func (s *story) startManagement(ctx context.Context) error {
	source, version, err := s.builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	objects, err := s.options.Provider.Objects()
	if err != nil {
		return err
	}
	manager := completed(managementcluster.Provider(s.programs, s.builder.Root, s.about.Name), s.setup, objects)
	s.management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: s.dir, Programs: s.programs, Progress: s.reporter.note,
		Components: append(managementcluster.ClusterAPI(s.programs, source, version), manager),
	})
	if err != nil {
		return err
	}
	s.watchManagement()
	s.workload, err = workload.New(ctx, s.management.RESTConfig, workload.Options{Log: s.log})
	if err != nil {
		return fmt.Errorf("preparing workload clusters: %w", err)
	}
	s.background.Go(func() {
		if err := s.workload.Start(s.life); err != nil {
			s.end(fmt.Errorf("simulating workload clusters: %w", err))
		}
	})
	return s.join(ctx)
}

// join lets the infrastructure play its part in the management cluster.
func (s *story) join(ctx context.Context) error {
	run, err := s.infrastructure.Join(ctx, s.management, s.workload)
	if err != nil {
		return fmt.Errorf("preparing %s: %w", s.about.System, err)
	}
	if run != nil {
		s.background.Go(func() {
			if err := run(s.life); err != nil {
				s.end(fmt.Errorf("simulating %s: %w", s.about.System, err))
			}
		})
	}
	return nil
}

// watchManagement ends the story with the first process of the management cluster that ends unasked.
func (s *story) watchManagement() {
	s.background.Go(func() {
		select {
		case <-s.management.Failed():
			s.end(s.management.Err())
		case <-s.life.Done():
		}
	})
}

// keep leaves everything running, to be looked at and played with, until it is
// interrupted or something of it dies.
func (s *story) keep(failed error) {
	if s.management == nil || s.life.Err() != nil {
		return
	}
	s.reporter.begin("Left running; Ctrl-C stops it and removes everything")
	if failed != nil {
		for line := range strings.Lines(Explain(failed)) {
			s.reporter.note(strings.TrimRight(line, "\n"))
		}
	}
	s.reporter.note("in another shell:")
	s.reporter.note("  export KUBECONFIG=" + s.management.Kubeconfig)
	for _, line := range s.setup.Access {
		s.reporter.note("  " + line)
	}
	<-s.life.Done()
	s.reporter.end(s.management.Err())
}

// close stops everything, the managers before what they talk to.
func (s *story) close() {
	if s.management != nil {
		s.management.Stop()
	}
	s.end(errEnded)
	s.background.Wait()
	if s.infrastructure != nil {
		s.infrastructure.Close()
	}
	s.reporter.close()
}

// errEnded is why the background work ends when all went well.
var errEnded = errors.New("the story is over")
