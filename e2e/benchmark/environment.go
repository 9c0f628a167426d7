// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
)

// ScenarioLimit bounds a scenario. The longest ones take a minute on two CPUs that
// have nothing else to do.
const ScenarioLimit = 5 * time.Minute

// userAgent is what the manager calls itself to the API server. Another than ours is the only one that the audit log has anything of.
func (b *Runner) userAgent() string {
	if b.Other != "" {
		return ""
	}
	return "faultline-" + b.Provider + "-manager"
}

// Environment is what one scenario runs in: a management cluster with the provider's manager in it, and
// what is started in it.
type Environment struct {
	Runner     *Runner
	Name       string
	Management *managementcluster.Cluster
	Client     client.WithWatch
	audit      string
	// closers end what was started in it.
	closers []func()
}

// Scenario runs something in a new environment, with further arguments for the manager. It
// ends with an error if that takes too long or a process of the management cluster dies.
func (b *Runner) Scenario(ctx context.Context, name string, args []string, run func(context.Context, *Environment) error) error {
	b.Progressf("%s: starting the management cluster", name)
	l, err := b.start(ctx, name, args)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer l.stop()
	limited, cancel := context.WithTimeoutCause(ctx, b.Limit, fmt.Errorf("not done after %s", b.Limit))
	defer cancel()
	alive, end := context.WithCancelCause(limited)
	defer end(nil)
	go func() {
		select {
		case <-l.Management.Failed():
			end(l.Management.Err())
		case <-alive.Done():
		}
	}()
	if err := run(alive, l); err != nil {
		b.Progressf("%s: failed", name)
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (b *Runner) start(ctx context.Context, name string, args []string) (*Environment, error) {
	dir := filepath.Join(b.dir, name)
	e := &Environment{Runner: b, Name: name, audit: filepath.Join(dir, "audit.log")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	programs, err := b.audited(dir, e.audit)
	if err != nil {
		return nil, fmt.Errorf("preparing the audit log: %w", err)
	}
	component, err := b.installation.Component(programs, filepath.Join(dir, "config"))
	if err != nil {
		return nil, err
	}
	component.Args = args
	e.Management, err = managementcluster.Start(ctx, managementcluster.Options{Dir: dir, Programs: programs, Components: []managementcluster.Component{component}})
	if err != nil {
		return nil, err
	}
	if e.Client, err = b.installation.Connect(e.Management.RESTConfig); err != nil {
		e.stop()
		return nil, err
	}
	return e, nil
}

func (e *Environment) stop() {
	e.Management.Stop()
	for _, closer := range e.closers {
		closer()
	}
}

// Progressf tells how far the scenario is.
func (e *Environment) Progressf(format string, args ...any) {
	e.Runner.Progressf("%s: "+format, append([]any{e.Name}, args...)...)
}

// OnStop has something ended with the scenario.
func (e *Environment) OnStop(end func()) { e.closers = append(e.closers, end) }

// audited answers the benchmark's programs with an API server that keeps an audit log:
// a script that runs the real one with a few arguments more.
func (b *Runner) audited(dir, log string) (binaries.Paths, error) {
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, binaries.APIServer)
	content := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" --audit-policy-file='%s' --audit-log-path='%s' --audit-log-maxsize=1000\n",
		b.installation.Programs[binaries.APIServer], policy, log)
	if err := os.WriteFile(script, []byte(content), 0o700); err != nil {
		return nil, err
	}
	programs := binaries.Paths{}
	for name, path := range b.installation.Programs {
		programs[name] = path
	}
	programs[binaries.APIServer] = script
	return programs, nil
}
