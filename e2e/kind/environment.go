// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind brings up a kind cluster with cert-manager, Cluster API and our
// providers, installed by clusterctl as users install them, and the simulated
// infrastructures that they drive.
//
// It needs Go, Debian packages and root; or a Docker engine and a registry that
// answers. What takes long is cached: programs in the user's cache, Debian under .cache,
// images in Docker. A run that was cut short is continued by the next.
package kind

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"time"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/docker"
	"github.com/faultline-io/faultline/e2e/offline"
	"github.com/faultline-io/faultline/e2e/offline/programs"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/release"
	"github.com/faultline-io/faultline/e2e/tool"
)

// Options of an environment.
type Options struct {
	// Name of the kind cluster.
	Name string
	// Providers are our infrastructure providers to install.
	Providers []provider.InKind
	// Source says where the images of others come from.
	Source tool.Source
	// Boot lets the machines of the simulated infrastructure boot: each is a container.
	Boot bool
	// SimulatorOf is the name of another environment that is up, if its simulated infrastructure
	// is to be used, where it can be, instead of one of this environment's own.
	SimulatorOf string
	// Upstream has the release that a provider of ours takes over from installed in its place: clusterctl finds ours as the next one.
	Upstream bool
	// Out receives a line for each step, and the progress of builds.
	Out io.Writer
}

// Environment is one kind cluster with all that it takes.
type Environment struct {
	Options

	builder *binaries.Builder
	// shared is for what all environments of this repository share, own for what this
	// one keeps.
	shared, own string
	// What steps find out for the steps after them.
	found findings
	// release ends the reservation, once there is one.
	release func() error
}

type findings struct {
	programs  binaries.Paths
	published bool     // the images of others come from a registry
	node      string   // the image of the node; "" is kind's own
	machine   string   // the image that machines boot from; "" when they do not
	images    []string // that the node is to have
	providers []release.Provider
	variables map[string]string // of cluster templates
}

// New returns the environment of the repository that the working directory belongs to.
func New(o Options) (*Environment, error) {
	builder, err := binaries.New(o.Out)
	if err != nil {
		return nil, err
	}
	// Programs that somebody else made ready are of some version.
	builder.Assets = ""
	shared := filepath.Join(builder.Root, ".cache", "kind")
	e := &Environment{Options: o, builder: builder, shared: shared, own: filepath.Join(shared, o.Name)}
	if name, _ := e.replaced(); o.Upstream && name == "" {
		return nil, errors.New("none of the providers takes over from another project's")
	}
	return e, nil
}

// Up brings the environment up, or completes one that is up in part.
func (e *Environment) Up(ctx context.Context) error {
	if err := e.reserve(); err != nil {
		return err
	}
	e.found = findings{}
	return e.stepper().run(ctx, append(e.prepare(), []step{
		{"kind cluster", e.createCluster},
		{"load images", e.loadImages},
		{"kinds of others", e.installOthers},
		{"simulators", e.startSimulators},
		{"clusterctl repository", e.writeRepository},
		{"clusterctl init", e.install},
	}...))
}

// reserve keeps the environment for this process until it ends: two runs would take each other's clusters and faults for their own.
func (e *Environment) reserve() error {
	if e.release != nil {
		return nil
	}
	unlock, err := tool.TryLock(filepath.Join(e.own, "lock"))
	if err == nil && unlock == nil {
		err = fmt.Errorf("environment %s is in use by another run in this clone: wait for that, or give this one another name (CLUSTER=NAME)", e.Name)
	}
	e.release = unlock
	return err
}

// Images builds everything that Up needs, and starts nothing but the engine.
func (e *Environment) Images(ctx context.Context) error {
	e.found = findings{}
	return e.stepper().run(ctx, e.prepare())
}

func (e *Environment) prepare() []step {
	steps := []step{
		{"docker engine", e.startEngine},
		{"image source", e.findSource},
		{"programs", e.buildPrograms},
		{"node image", e.buildNode},
		{"component images", e.buildComponents},
	}
	if e.Boot {
		steps = append(steps, step{"machine image", e.buildMachine})
	}
	return append(steps, step{"simulator images", e.buildSimulators})
}

// Down removes what Up made: the cluster, the simulated infrastructure with its machines,
// and the engine if Up started it and nobody else has a container in it. Caches stay.
func (e *Environment) Down(ctx context.Context) error {
	if err := e.reserve(); err != nil {
		return err
	}
	return e.stepper().run(ctx, []step{
		{"remove simulators and cluster", e.remove},
		{"stop engine", e.stopEngine},
	})
}

// Kubeconfig is the path of the kubeconfig of the cluster.
func (e *Environment) Kubeconfig() string { return filepath.Join(e.own, "kubeconfig") }

// ClusterctlConfig is the path of the configuration for clusterctl: the local
// repository, and the variables of cluster templates.
func (e *Environment) ClusterctlConfig() string { return e.repository().Config() }

// Program is the path of a program that was built for the environment.
func (e *Environment) Program(name string) string { return filepath.Join(e.builder.Dir(), name) }

func (e *Environment) stepper() stepper {
	return stepper{logs: filepath.Join(e.own, "log"), out: e.Out, clock: time.Now}
}

func (e *Environment) engine(log io.Writer) offline.Engine {
	return offline.Engine{
		Dir: e.shared, Run: tool.Runner{Log: log},
		BoundedRunc: func(ctx context.Context) (string, error) {
			paths, err := e.builder.Ensure(ctx, programs.BoundedRunc)
			return paths[programs.BoundedRunc], err
		},
	}
}

func (e *Environment) docker(log io.Writer) docker.Docker {
	return docker.Docker{Runner: tool.Runner{Log: log}}
}

func (e *Environment) cluster(log io.Writer) Cluster {
	return Cluster{
		Name: e.Name, Image: e.found.node, Kubeconfig: e.Kubeconfig(),
		Kubectl: e.Program(binaries.Kubectl), Docker: e.docker(log),
	}
}

func (e *Environment) repository() release.Repository {
	return release.Repository{Dir: filepath.Join(e.own, "repository")}
}

// Variables are those of cluster templates that describe what the providers drive and
// the network; Up finds them out.
func (e *Environment) Variables() map[string]string { return maps.Clone(e.found.variables) }

// Attach takes what Up has found out in another process, as Variables reports it there:
// an environment that is up serves several processes.
func (e *Environment) Attach(variables map[string]string) { e.found.variables = maps.Clone(variables) }

// NodeImages are those that Up has given the node; none where another process brought the environment up.
func (e *Environment) NodeImages() []string { return e.found.images }
