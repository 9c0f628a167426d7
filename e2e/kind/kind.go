// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind brings up a kind cluster with cert-manager, Cluster API and our
// providers, installed by clusterctl as users install them. It needs Go, Debian
// packages and root, or a Docker engine and a registry that answers.
package kind

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/kind/command"
	"github.com/faultline-io/faultline/e2e/kind/docker"
	"github.com/faultline-io/faultline/e2e/kind/engine"
	"github.com/faultline-io/faultline/e2e/kind/nodeimage"
)

// Environment is one kind cluster with all that it takes.
type Environment struct {
	Options

	builder *binaries.Builder
	dir     string
	// What steps leave for the next ones.
	programs binaries.Paths
	node     string
}

// Options of an environment.
type Options struct {
	// Name of the kind cluster.
	Name string
	// Out receives a line for each step, and the progress of builds.
	Out io.Writer
}

// New returns the environment of the repository that the working directory belongs to.
func New(o Options) (*Environment, error) {
	builder, err := binaries.New(o.Out)
	if err != nil {
		return nil, err
	}
	return &Environment{Options: o, builder: builder, dir: filepath.Join(builder.Root, ".cache", "kind")}, nil
}

// Up brings the environment up, or completes one that is up in part.
func (e *Environment) Up(ctx context.Context) error {
	return e.stepper().run(ctx, []step{
		{"docker engine", e.startEngine},
		{"programs", e.build},
		{"node image", e.nodeImage},
	})
}

func (e *Environment) stepper() stepper {
	return stepper{logs: filepath.Join(e.dir, "log"), out: e.Out, clock: time.Now}
}

func (e *Environment) engine(log io.Writer) engine.Engine {
	return engine.Engine{
		Dir: e.dir, Run: command.Runner{Log: log},
		BoundedRunc: func(ctx context.Context) (string, error) { return e.program(ctx, binaries.BoundedRunc) },
	}
}

func (e *Environment) startEngine(ctx context.Context, log io.Writer) error {
	return e.engine(log).Ensure(ctx)
}

func (e *Environment) program(ctx context.Context, name string) (string, error) {
	paths, err := e.builder.Ensure(ctx, name)
	return paths[name], err
}

func (e *Environment) build(ctx context.Context, _ io.Writer) error {
	var err error
	e.programs, err = e.builder.Ensure(ctx, binaries.Node()...)
	return err
}

func (e *Environment) nodeImage(ctx context.Context, log io.Writer) error {
	source, _, err := e.builder.Kind(ctx)
	if err != nil {
		return err
	}
	builder := nodeimage.Builder{
		Docker: docker.Docker{Runner: command.Runner{Log: log}}, Programs: e.programs, Kind: source, Dir: e.dir,
	}
	if e.node, err = builder.Node(ctx); err != nil {
		return err
	}
	_, err = fmt.Fprintln(log, "The node image is", e.node)
	return err
}
