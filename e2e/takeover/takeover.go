// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package takeover runs a cluster with upstream's released manager on govmomi's vcsim as it comes, and then has ours take over. The
// managers are the real programs, each with the CRDs, webhooks and rights of its own release, which are read from its module.
package takeover

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/go-logr/logr"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/shared/ports"
)

const (
	username, password = "administrator", "simulator"
	// leaseName is that of the lease that both managers ask for.
	leaseName = "capv-controller-manager-runtime"
)

// environment is what the managers need: a vCenter, Cluster API, and workload clusters in memory.
type environment struct {
	Cluster

	management *managementcluster.Cluster

	upstream, ours, ipam managementcluster.Component

	background sync.WaitGroup
	end        context.CancelFunc
	mu         sync.Mutex
	failure    error
}

// newEnvironment starts everything but a manager for vSphere. What it writes is in a folder.
func newEnvironment(ctx context.Context, dir string, progress io.Writer, log logr.Logger) (g *environment, err error) {
	builder, err := binaries.New(progress)
	if err != nil {
		return nil, err
	}
	programs, err := builder.Ensure(ctx, append(binaries.Demo(vsphere.Provider{}.Describe().Name), binaries.UpstreamVSphere, binaries.InClusterIPAM)...)
	if err != nil {
		return nil, err
	}
	life, end := context.WithCancel(ctx)
	g = &environment{end: end}
	defer func() {
		if err != nil {
			g.close()
		}
	}()
	if g.VCenter, err = NewVCenter(ctx, ports.Host, url.UserPassword(username, password)); err != nil {
		return g, fmt.Errorf("starting vcsim: %w", err)
	}
	g.run(life, g.VCenter.Run)
	if err := g.describe(ctx, builder, programs, dir); err != nil {
		return g, err
	}
	return g, g.startManagement(ctx, life, builder, managementcluster.Options{Dir: dir, Programs: programs}, log)
}

// describe says what the two managers are, and that of the pools.
func (g *environment) describe(ctx context.Context, builder *binaries.Builder, programs binaries.Paths, dir string) error {
	folder, version, err := builder.Upstream(ctx)
	if err != nil {
		return err
	}
	_, clusterAPI, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	pools, err := builder.InClusterIPAM(ctx)
	if err != nil {
		return err
	}
	credentials := filepath.Join(dir, "credentials.yaml")
	if err := os.WriteFile(credentials, fmt.Appendf(nil, "username: %q\npassword: %q\n", username, password), 0o600); err != nil {
		return err
	}
	variables := map[string]string{"VSPHERE_USERNAME": username, "VSPHERE_PASSWORD": password, "EXP_NODE_ANTI_AFFINITY": "true"}
	args := []string{"--credentials-file=" + credentials, "--leader-elect=true"}
	g.upstream = managementcluster.Component{
		Name: binaries.UpstreamVSphere, Program: programs[binaries.UpstreamVSphere], Version: version,
		Config: filepath.Join(folder, "config", "default"), Variables: variables, Args: args, InPod: true,
	}
	g.ipam = managementcluster.Component{
		Name: binaries.InClusterIPAM, Program: programs[binaries.InClusterIPAM], Config: filepath.Join(pools, "config", "default"),
		HealthArg: "--health-probe-bind-address",
	}
	g.ours = managementcluster.Provider(programs, builder.Root, vsphere.Provider{}.Describe().Name)
	maps.Copy(g.ours.Variables, variables)
	g.ours.Args = append(g.ours.Args, append(args, managementcluster.KubeadmVersion(clusterAPI))...)
	return nil
}

func (g *environment) startManagement(ctx, life context.Context, builder *binaries.Builder, options managementcluster.Options, log logr.Logger) error {
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	options.Components = append(managementcluster.ClusterAPI(options.Programs, source, version), g.ipam)
	if g.management, err = managementcluster.Start(ctx, options); err != nil {
		return err
	}
	g.Client = g.management.Client
	if g.Workload, err = workload.New(ctx, g.management.RESTConfig, workload.Options{Log: log}); err != nil {
		return fmt.Errorf("preparing workload clusters: %w", err)
	}
	g.run(life, g.Workload.Start)
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

// run runs something beside everything else; what fails is kept for err.
func (g *environment) run(ctx context.Context, f func(context.Context) error) {
	g.background.Go(func() {
		if err := f(ctx); err != nil {
			g.mu.Lock()
			g.failure = errors.Join(g.failure, err)
			g.mu.Unlock()
		}
	})
}

// err is what failed beside everything else.
func (g *environment) err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.failure
}

func (g *environment) close() {
	if g.management != nil {
		g.management.Stop()
	}
	g.end()
	g.background.Wait()
	if g.VCenter != nil {
		g.VCenter.Close()
	}
}
