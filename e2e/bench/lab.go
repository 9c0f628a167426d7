// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package bench

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/plane"
)

// scenarioLimit bounds a scenario. The longest ones take a minute on two CPUs that
// have nothing else to do.
const scenarioLimit = 5 * time.Minute

// userAgent is what the manager calls itself to the API server.
func (b *bench) userAgent() string { return "faultline-" + b.provider + "-manager" }

// lab is what one scenario runs in: a plane with the provider's manager in it, and
// what its worlds bring along.
type lab struct {
	bench  *bench
	name   string
	plane  *plane.Plane
	client client.WithWatch
	audit  string
	// closers end what the worlds have started.
	closers []func()
}

// scenario runs something in a new lab, with further arguments for the manager. It
// ends with an error if that takes too long or a process of the plane dies.
func (b *bench) scenario(ctx context.Context, name string, args []string, run func(context.Context, *lab) error) error {
	b.progressf("%s: starting the management plane", name)
	l, err := b.start(ctx, name, args)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	defer l.stop()
	limited, cancel := context.WithTimeoutCause(ctx, b.limit, fmt.Errorf("not done after %s", b.limit))
	defer cancel()
	alive, end := context.WithCancelCause(limited)
	defer end(nil)
	go func() {
		select {
		case <-l.plane.Failed():
			end(l.plane.Err())
		case <-alive.Done():
		}
	}()
	if err := run(alive, l); err != nil {
		b.progressf("%s: failed", name)
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (b *bench) start(ctx context.Context, name string, args []string) (*lab, error) {
	dir := filepath.Join(b.dir, name)
	l := &lab{bench: b, name: name, audit: filepath.Join(dir, "audit.log")}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	programs, err := b.audited(dir, l.audit)
	if err != nil {
		return nil, fmt.Errorf("preparing the audit log: %w", err)
	}
	component, err := b.installation.Component(programs, filepath.Join(dir, "config"))
	if err != nil {
		return nil, err
	}
	component.Args = args
	l.plane, err = plane.Start(ctx, plane.Options{Dir: dir, Programs: programs, Components: []plane.Component{component}})
	if err != nil {
		return nil, err
	}
	if l.client, err = b.installation.Connect(l.plane.RESTConfig); err != nil {
		l.stop()
		return nil, err
	}
	return l, nil
}

func (l *lab) stop() {
	l.plane.Stop()
	for _, closer := range l.closers {
		closer()
	}
}

// audited answers the bench's programs with an API server that keeps an audit log:
// a script that runs the real one with a few arguments more.
func (b *bench) audited(dir, log string) (binaries.Paths, error) {
	policy := filepath.Join(dir, "audit-policy.yaml")
	if err := os.WriteFile(policy, []byte(auditPolicy), 0o600); err != nil {
		return nil, err
	}
	script := filepath.Join(dir, binaries.APIServer)
	content := fmt.Sprintf("#!/bin/sh\nexec '%s' \"$@\" --audit-policy-file='%s' --audit-log-path='%s' --audit-log-maxsize=1000\n",
		b.installation.Programs[binaries.APIServer], policy, log)
	if err := os.WriteFile(script, []byte(content), 0o700); err != nil { //nolint:gosec // it is a program
		return nil, err
	}
	programs := binaries.Paths{}
	for name, path := range b.installation.Programs {
		programs[name] = path
	}
	programs[binaries.APIServer] = script
	return programs, nil
}
