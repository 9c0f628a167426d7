//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package takeover

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/workload"
)

// environment holds what every manager needs: Cluster API with a provider of pools, and in-memory workload clusters.
type environment struct {
	management *managementcluster.Cluster
	managed    Managed

	upstream, ours managementcluster.Component
	// lease is the lease that both managers use.
	lease client.ObjectKey

	background sync.WaitGroup
	end        context.CancelFunc
	mu         sync.Mutex
	failure    error
}

// newEnvironment returns an environment without running programs. Programs in it run until close.
func newEnvironment(ctx context.Context) (g *environment, life context.Context) {
	life, end := context.WithCancel(ctx)
	return &environment{end: end}, life
}

// start starts Cluster API's managers and the manager of pools.
func (g *environment) start(ctx, life context.Context, builder *binaries.Builder, options managementcluster.Options, log logr.Logger) error {
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	pools, err := builder.InClusterIPAM(ctx)
	if err != nil {
		return err
	}
	options.Components = append(managementcluster.ClusterAPI(options.Programs, source, version), managementcluster.Component{
		Name: binaries.InClusterIPAM, Program: options.Programs[binaries.InClusterIPAM], Config: filepath.Join(pools, "config", "default"),
		HealthArg: "--health-probe-bind-address",
	})
	if g.management, err = managementcluster.Start(ctx, options); err != nil {
		return err
	}
	workloads, err := workload.New(ctx, g.management.RESTConfig, workload.Options{Log: log})
	if err != nil {
		return fmt.Errorf("preparing workload clusters: %w", err)
	}
	g.managed = Managed{Client: g.management.Client, Workload: workloads}
	g.run(life, workloads.Start)
	g.run(life, func(ctx context.Context) error {
		select {
		case <-g.management.Failed():
			return g.management.Err()
		case <-ctx.Done():
			return nil
		}
	})
	return nil
}

// run runs a function in the background and stores its error for err.
func (g *environment) run(ctx context.Context, f func(context.Context) error) {
	g.background.Go(func() {
		if err := f(ctx); err != nil {
			g.mu.Lock()
			g.failure = errors.Join(g.failure, err)
			g.mu.Unlock()
		}
	})
}

// err returns the error of a background function.
func (g *environment) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

// settled is Settled, unless a background function has failed.
func (g *environment) settled(ctx context.Context, count int) (missing string, err error) {
	if err := g.err(); err != nil {
		return "", err
	}
	return g.managed.Settled(ctx, count)
}

// holder returns the holder of the lease.
func (g *environment) holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := g.management.Client.Get(ctx, g.lease, lease); err != nil {
		return "", client.IgnoreNotFound(err)
	}
	return ptr.Deref(lease.Spec.HolderIdentity, ""), nil
}

func (g *environment) close() {
	if g.management != nil {
		g.management.Stop()
	}
	g.end()
	g.background.Wait()
}
