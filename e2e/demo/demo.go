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
	"log"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/e2e/provider"
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
	if err := os.Mkdir(filepath.Join(dir, "logs"), 0o755); err != nil {
		return fmt.Errorf("creating the directory for logs: %w", err)
	}
	file, err := os.Create(filepath.Join(dir, "logs", "demo.log"))
	if err != nil {
		return fmt.Errorf("opening the demo's log: %w", err)
	}
	defer func() { _ = file.Close() }()
	defer divertLogs(file)()
	err = runIn(ctx, options, dir)
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

// divertLogs redirects the process-wide loggers of libraries to w until restore is called. This keeps log lines out of the output.
func divertLogs(w io.Writer) (restore func()) {
	logger := textlogger.NewLogger(textlogger.NewConfig(textlogger.Output(w)))
	klog.SetLogger(logger)
	ctrl.SetLogger(logger)
	previous := log.Writer()
	log.SetOutput(w)
	return func() { log.SetOutput(previous) }
}

// runIn runs a demo that writes its files to a folder. Several may run at the same time.
func runIn(ctx context.Context, options Options, dir string) error {
	s, err := newDemo(ctx, options, dir)
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

// keep leaves everything running for inspection until the demo is interrupted or a process exits.
func (d *demo) keep(failed error) {
	if !d.running() || d.life.Err() != nil {
		return
	}
	d.reporter.begin("Everything keeps running; Ctrl-C stops and removes it")
	if failed != nil {
		for line := range strings.Lines(Explain(failed)) {
			d.reporter.note(strings.TrimRight(line, "\n"))
		}
	}
	d.reporter.note("in another shell:")
	d.reporter.note("  export KUBECONFIG=" + d.Management.Kubeconfig)
	for _, line := range d.Setup.Access {
		d.reporter.note("  " + line)
	}
	<-d.life.Done()
	d.reporter.end(d.Management.Err())
}

// close stops everything.
func (d *demo) close() {
	if d.client != nil {
		d.client.Stop()
	}
	d.Close()
}
