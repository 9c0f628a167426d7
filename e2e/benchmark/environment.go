// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package benchmark

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
)

// Environment is the environment of one scenario: a management cluster with the provider's manager and everything that the scenario
// starts. Rows and details of the report are added to it.
type Environment struct {
	report

	Management *managementcluster.Cluster
	Client     client.WithWatch

	runner *runner
	name   string
	audit  string
	// counters count the calls to the infrastructures.
	counters []counter
	// closers stop what the scenario started.
	closers []func()
}

func (b *runner) start(ctx context.Context, s Scenario) (*Environment, error) {
	dir := filepath.Join(b.dir, s.Name)
	e := &Environment{runner: b, name: s.Name, audit: filepath.Join(dir, "audit.log")}
	e.Progressf("starting the management cluster")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, fmt.Errorf("preparing the audit log: %w", err)
	}
	component := b.installation.Component()
	component.Args = s.Args
	var err error
	e.Management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: dir, Programs: b.installation.Programs, Components: []managementcluster.Component{component},
		APIServerArgs: []string{"--audit-policy-file=" + policy, "--audit-log-path=" + e.audit, "--audit-log-maxsize=1000"},
	})
	if err != nil {
		return nil, err
	}
	if e.Client, err = provider.Connect(b.installation.Provider, e.Management.RESTConfig); err != nil {
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

// OnStop registers a function that runs when the scenario ends.
func (e *Environment) OnStop(end func()) { e.closers = append(e.closers, end) }

// Assets returns the folder with the programs that a simulation runs.
func (e *Environment) Assets() string { return e.runner.installation.Assets }

// Progressf reports the progress of the scenario.
func (e *Environment) Progressf(format string, args ...any) {
	_, _ = fmt.Fprintf(e.runner.progress, "%s: "+format+"\n", append([]any{e.name}, args...)...)
}

// userAgent returns the manager's user agent prefix. A manager other than ours is the only client in the audit log, so any user agent
// matches.
func (e *Environment) userAgent() string {
	if e.runner.installation.Other != nil {
		return ""
	}
	return "faultline-" + e.runner.provider + "-manager"
}
