// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package environment runs the manager of one of our providers with Cluster API's managers, and with further upstream managers. All of
// them are the real programs with the CRDs, RBAC rules and webhooks of their releases. The infrastructure is simulated in this process, and
// workload clusters are kept in memory.
package environment

import (
	"context"
	"fmt"
	"io"
	"maps"
	"os"
	"strconv"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/workload"
)

// Options configure an Environment.
type Options struct {
	Provider provider.Provider
	// Infrastructure starts the simulation. The folder programs has the programs of the provider's Description, etcd and kube-apiserver.
	Infrastructure func(programs string) (provider.Infrastructure, error)
	// Further are managers in addition to Cluster API's and the provider's.
	Further []managementcluster.Component
	// Args are further arguments of the provider's manager.
	Args []string
	// APIServer, unless nil, injects faults between the provider's manager and the API server.
	APIServer *managementcluster.APIServerFaults
	// Dir is the folder for the data and the logs. It is not removed.
	Dir string
	// Progress receives the output of builds.
	Progress io.Writer
	// Step, unless nil, is called after each completed step of the start.
	Step func(message string)
	// Log is the logger of the simulator of workload clusters. Without one, nothing is logged.
	Log logr.Logger
}

// Environment is a management cluster with a provider.
type Environment struct {
	// Client has the kinds of Kubernetes, Cluster API and the provider.
	Client     client.WithWatch
	Management *managementcluster.Cluster
	Workload   *workload.Simulator
	// Root is the root folder of the repository.
	Root string
	// Setup has the settings of the infrastructure.
	Setup provider.Setup

	options        Options
	programs       binaries.Paths
	source         string // of Cluster API, in its version
	version        string
	assets         string
	infrastructure provider.Infrastructure
	background     sync.WaitGroup
	end            context.CancelCauseFunc
}

// New returns an environment that is not started. It builds the programs that are missing or outdated.
func New(ctx context.Context, options Options) (*Environment, error) {
	builder, err := binaries.New(options.Progress)
	if err != nil {
		return nil, err
	}
	e := &Environment{Root: builder.Root, options: options}
	if e.programs, err = builder.Ensure(ctx, options.Provider.Describe().ManagementPrograms()...); err != nil {
		return nil, err
	}
	e.assets = builder.Dir()
	e.source, e.version, err = builder.ClusterAPI(ctx)
	return e, err
}

// Start starts the environment. The caller must close it, even on an error. The returned context ends when a part of the environment fails.
func (e *Environment) Start(ctx context.Context) (context.Context, error) {
	ctx, e.end = context.WithCancelCause(ctx)
	if err := e.start(ctx); err != nil {
		return ctx, err
	}
	e.background.Go(func() {
		select {
		case <-e.Management.Failed():
			e.Fail(e.Management.Err())
		case <-ctx.Done():
		}
	})
	e.Go(ctx, "workload clusters", e.Workload.Start)
	system := e.options.Provider.Describe().System
	run, err := e.infrastructure.Join(ctx, e.Management, e.Workload)
	if err != nil {
		return ctx, fmt.Errorf("preparing %s: %w", system, err)
	}
	if run != nil {
		e.Go(ctx, system, run)
	}
	return ctx, nil
}

func (e *Environment) start(ctx context.Context) (err error) {
	options := e.options
	if e.infrastructure, err = options.Infrastructure(e.assets); err != nil {
		return err
	}
	if e.Setup, err = e.infrastructure.Setup(options.Dir); err != nil {
		return err
	}
	ours := managementcluster.Provider(e.programs, e.Root, options.Provider.Describe().Name)
	if ours.Objects, err = options.Provider.Objects(); err != nil {
		return err
	}
	ours.Args, ours.APIServerFaults = append(ours.Args, managementcluster.KubeadmVersion(e.version)), options.APIServer
	ours.Args = append(append(ours.Args, options.Args...), e.Setup.ManagerArgs...)
	maps.Copy(ours.Variables, e.Setup.ManagerVariables)
	components := append(append(managementcluster.ClusterAPI(e.programs, e.source, e.version), options.Further...), ours)
	for i := range components {
		components[i].Deployment = true // for kubectl fd version and preflight
	}
	e.Management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: options.Dir, Programs: e.programs, Progress: options.Step, Components: components,
	})
	if err != nil {
		return err
	}
	if e.Client, err = provider.Connect(options.Provider, e.Management.RESTConfig); err != nil {
		return err
	}
	if e.Workload, err = workload.New(ctx, e.Management.RESTConfig, workload.Options{Log: options.Log}); err != nil {
		return fmt.Errorf("preparing workload clusters: %w", err)
	}
	return nil
}

// Go runs a function in the background until the environment is closed, and ends ctx if it fails.
func (e *Environment) Go(ctx context.Context, what string, run func(context.Context) error) {
	e.background.Go(func() {
		if err := run(ctx); err != nil && ctx.Err() == nil {
			e.Fail(fmt.Errorf("simulating %s: %w", what, err))
		}
	})
}

// Fail ends the context of the environment.
func (e *Environment) Fail(err error) { e.end(err) }

// Fill returns the objects of a template of a cluster. The variables are additions to those that describe the infrastructure and the control
// plane's endpoint.
func (e *Environment) Fill(file string, cluster client.ObjectKey, variables map[string]string) ([]*unstructured.Unstructured, error) {
	host, port, err := e.Workload.Endpoint(cluster.Namespace, cluster.Name)
	if err != nil {
		return nil, fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	all := map[string]string{
		"CLUSTER_NAME": cluster.Name, "NAMESPACE": cluster.Namespace, "KUBERNETES_VERSION": binaries.KubernetesVersion,
		"CONTROL_PLANE_ENDPOINT_IP": host, "CONTROL_PLANE_ENDPOINT_PORT": strconv.Itoa(port),
	}
	maps.Copy(all, e.Setup.Variables)
	maps.Copy(all, variables)
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	objects, err := managementcluster.Fill(content, all)
	if err != nil {
		return nil, fmt.Errorf("filling in %s: %w", file, err)
	}
	return objects, nil
}

// Close stops the environment, managers first. One that was not started needs no Close.
func (e *Environment) Close() {
	if e == nil || e.end == nil {
		return
	}
	if e.Management != nil {
		e.Management.Stop()
	}
	e.end(nil)
	e.background.Wait()
	if e.infrastructure != nil {
		e.infrastructure.Close()
	}
}
