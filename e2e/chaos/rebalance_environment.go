// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package chaos

import (
	"context"
	"fmt"
	"maps"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
)

// restartPause is the minimum time between a restart of the manager and the next kill. All control planes share it.
const restartPause = 3 * time.Second

// environment is the management cluster of all control planes.
type environment struct {
	about      provider.Description
	root       string
	setup      provider.Setup
	sites      provider.MultiCluster
	management *managementcluster.Cluster
	apiServer  *managementcluster.APIServerFaults // nil if the API server injects no faults
	workload   *workload.Simulator

	end        context.CancelCauseFunc
	background sync.WaitGroup

	mu    sync.Mutex // held while the manager is down
	ready time.Time
	kills int
}

// prepare starts the environment. The caller must close the returned environment, even on an error. ctx ends when a part of the
// environment fails.
func prepare(ctx context.Context, options Options, sited provider.RebalanceProvider, dir string) (*environment, context.Context, error) {
	g := &environment{about: options.Provider.Describe()}
	ctx, g.end = context.WithCancelCause(ctx)
	if err := g.start(ctx, options, sited, dir); err != nil {
		return g, ctx, err
	}
	if err := g.apiServer.Set(ctx, true); err != nil {
		return g, ctx, err
	}
	g.background.Go(func() {
		select {
		case <-g.management.Failed():
			g.end(g.management.Err())
		case <-ctx.Done():
		}
	})
	g.goRun(ctx, "workload clusters", g.workload.Start)
	g.goRun(ctx, g.about.System, func(ctx context.Context) error { return g.sites.Run(ctx, g.management, g.workload) })
	return g, ctx, nil
}

func (g *environment) start(ctx context.Context, options Options, sited provider.RebalanceProvider, dir string) (err error) {
	if g.apiServer, err = managementcluster.NewAPIServerFaults(options.APIServer); err != nil {
		return err
	}
	builder, err := binaries.New(options.Progress)
	if err != nil {
		return err
	}
	g.root = builder.Root
	programs, err := builder.Ensure(ctx, g.about.ManagementPrograms()...)
	if err != nil {
		return err
	}
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	objects, err := options.Provider.Objects()
	if err != nil {
		return err
	}
	if g.sites, err = sited.MultiCluster(builder.AssetsDir()); err != nil {
		return err
	}
	if g.setup, err = g.sites.Setup(dir); err != nil {
		return err
	}
	component := managementcluster.Provider(programs, g.root, g.about.Name)
	component.Args, component.Objects = append(component.Args, g.setup.ManagerArgs...), objects
	component.Args, component.APIServerFaults = append(component.Args, managementcluster.KubeadmVersion(version)), g.apiServer
	maps.Copy(component.Variables, g.setup.ManagerVariables)
	g.management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: dir, Programs: programs, Components: append(managementcluster.ClusterAPI(programs, source, version), component),
	})
	if err != nil {
		return err
	}
	g.workload, err = workload.New(ctx, g.management.RESTConfig, workload.Options{Log: logr.Discard()})
	return err
}

// goRun runs a function in the background until the environment is closed, and ends ctx if it fails.
func (g *environment) goRun(ctx context.Context, what string, run func(context.Context) error) {
	g.background.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			g.end(fmt.Errorf("simulating %s: %w", what, err))
		}
	})
}

// kill kills the provider's manager and restarts it, unless it was restarted only recently. It reports whether it did.
func (g *environment) kill(ctx context.Context) (bool, error) {
	if !g.mu.TryLock() {
		return false, nil
	}
	defer g.mu.Unlock()
	if time.Since(g.ready) < restartPause {
		return false, nil
	}
	name := binaries.Provider(g.about.Name)
	if err := g.management.Kill(name); err != nil {
		return false, err
	}
	g.kills++
	err := restart(ctx, g.management, name)
	g.ready = time.Now()
	return true, err
}

func (g *environment) close() {
	if g.management != nil {
		g.management.Stop()
	}
	g.end(nil)
	g.background.Wait()
	if g.sites != nil {
		g.sites.Close()
	}
}

// kinds returns the provider's kinds.
func (g *environment) kinds() kinds {
	var found kinds
	for kind := range g.about.Kinds {
		switch kind.Kind {
		case g.about.ClusterKind:
			found.cluster = ofKind(kind)
		case g.about.MachineKind():
			found.machine = ofKind(kind)
		}
	}
	return found
}

func ofKind(kind schema.GroupVersionKind) unstructured.Unstructured {
	object := unstructured.Unstructured{}
	object.SetGroupVersionKind(kind)
	return object
}
