// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package kind creates a kind cluster with cert-manager, Cluster API and our providers, installed by clusterctl as users install them,
// and the simulated infrastructures of the providers.
//
// It needs Go, Debian packages and root; or a Docker engine and a reachable registry. Slow results are cached: programs in the user's
// cache, Debian under .cache, images in Docker. The next run continues an interrupted one.
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

// Options configure an environment.
type Options struct {
	// Name is the name of the kind cluster.
	Name string
	// Providers are the infrastructure providers to install.
	Providers []provider.KindProvider
	// Source selects where third-party images come from.
	Source tool.Source
	// Boot makes the machines of the simulated infrastructure boot as containers.
	Boot bool
	// SimulatorOf is the name of another running environment whose simulated infrastructure should be used where possible, instead of a
	// separate one.
	SimulatorOf string
	// Upstream installs the upstream release that one of our providers takes over from. clusterctl then offers ours as an upgrade.
	Upstream bool
	// Out receives a line for each step, and the progress of builds.
	Out io.Writer
}

// Environment is one kind cluster with everything it needs.
type Environment struct {
	Options

	builder *binaries.Builder
	// shared is the cache folder of all environments of this repository, own the folder of this one.
	shared, own string
	// found holds results of steps for later steps.
	found findings
	// release releases the reservation, if any.
	release func() error
}

type findings struct {
	programs  binaries.Paths
	published bool     // third-party images come from a registry
	node      string   // image of the node; "" is kind's own
	machine   string   // image that machines boot from; "" if they do not boot
	images    []string // images that the node must have
	providers []release.Provider
	variables map[string]string // of cluster templates
}

// New returns the environment of the repository of the working directory.
func New(o Options) (*Environment, error) {
	builder, err := binaries.New(o.Out)
	if err != nil {
		return nil, err
	}
	// The versions of programs in such a folder are unknown.
	builder.Assets = ""
	shared := filepath.Join(builder.Root, ".cache", "kind")
	e := &Environment{Options: o, builder: builder, shared: shared, own: filepath.Join(shared, o.Name)}
	if o.Upstream && e.replacing().Upstream == "" {
		return nil, errors.New("none of the providers replaces an upstream provider")
	}
	return e, nil
}

// Up creates the environment, or completes a partial one.
func (e *Environment) Up(ctx context.Context) error {
	if err := e.reserve(); err != nil {
		return err
	}
	e.found = findings{}
	return e.stepper().run(ctx, append(e.prepare(), []step{
		{"kind cluster", e.createCluster},
		{"load images", e.loadImages},
		{"third-party CRDs", e.installOthers},
		{"simulators", e.startSimulators},
		{"clusterctl repository", e.writeRepository},
		{"clusterctl init", e.install},
	}...))
}

// reserve reserves the environment for this process until it ends, because two runs would affect each other's clusters and faults.
func (e *Environment) reserve() error {
	if e.release != nil {
		return nil
	}
	unlock, err := tool.TryLock(filepath.Join(e.own, "lock"))
	if err == nil && unlock == nil {
		err = fmt.Errorf("environment %s is in use by another run in this clone: wait for it, or choose another name (CLUSTER=NAME)", e.Name)
	}
	e.release = unlock
	return err
}

// Images builds everything that Up needs, and starts only the engine.
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

// Down removes what Up created: the cluster, the simulated infrastructure with its machines, and the engine if Up started it and it runs
// no other containers. Caches stay.
func (e *Environment) Down(ctx context.Context) error {
	if err := e.reserve(); err != nil {
		return err
	}
	return e.stepper().run(ctx, []step{
		{"remove simulators and cluster", e.remove},
		{"stop engine", e.stopEngine},
	})
}

// Kubeconfig returns the path of the cluster's kubeconfig.
func (e *Environment) Kubeconfig() string { return filepath.Join(e.own, "kubeconfig") }

// ClusterctlConfig returns the path of the configuration for clusterctl, which has the local repository and the variables of cluster
// templates.
func (e *Environment) ClusterctlConfig() string { return e.repository().Config() }

// Program returns the path of a program that was built for the environment.
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

// Variables returns the variables of cluster templates that describe the infrastructure and the network. Up sets them.
func (e *Environment) Variables() map[string]string { return maps.Clone(e.found.variables) }

// Attach sets the variables that Up determined in another process, as returned by Variables there: several processes can use one running
// environment.
func (e *Environment) Attach(variables map[string]string) { e.found.variables = maps.Clone(variables) }

// NodeImages returns the images that Up loaded into the node; none if another process ran Up.
func (e *Environment) NodeImages() []string { return e.found.images }
