// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realprograms runs the manager of one of our providers with Cluster API's managers, and with further upstream managers. All of
// them are the real programs with the CRDs, RBAC rules and webhooks of their releases. The infrastructure is simulated in this process, and
// workload clusters are kept in memory.
package realprograms

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

// Infrastructure is the simulated infrastructure of an Environment.
type Infrastructure interface {
	Setup(dir string) (provider.Setup, error)
	Close()
}

// Options configure an Environment.
type Options struct {
	Provider provider.Provider
	// Infrastructure starts the simulation. The folder programs has the programs of the provider's Description, etcd and kube-apiserver.
	Infrastructure func(programs string) (Infrastructure, error)
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
}

// Environment is a management cluster with a provider.
type Environment struct {
	// Client has the kinds of Kubernetes, Cluster API and the provider.
	Client     client.WithWatch
	Management *managementcluster.Cluster
	Workload   *workload.Simulator
	// Root is the root folder of the repository.
	Root string

	infrastructure Infrastructure
	setup          provider.Setup
	background     sync.WaitGroup
	end            context.CancelCauseFunc
}

// Start starts an environment. The caller must close the returned environment, even on an error. The returned context ends when a part of
// the environment fails.
func Start(ctx context.Context, options Options) (*Environment, context.Context, error) {
	e := &Environment{}
	ctx, e.end = context.WithCancelCause(ctx)
	if err := e.start(ctx, options); err != nil {
		return e, ctx, err
	}
	e.background.Go(func() {
		select {
		case <-e.Management.Failed():
			e.Fail(e.Management.Err())
		case <-ctx.Done():
		}
	})
	e.Go(ctx, "workload clusters", e.Workload.Start)
	return e, ctx, nil
}

func (e *Environment) start(ctx context.Context, options Options) error {
	builder, err := binaries.New(options.Progress)
	if err != nil {
		return err
	}
	e.Root = builder.Root
	about := options.Provider.Describe()
	programs, err := builder.Ensure(ctx, about.ManagementPrograms()...)
	if err != nil {
		return err
	}
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	infrastructure, err := options.Infrastructure(builder.AssetsDir())
	if err != nil {
		return err
	}
	e.infrastructure = infrastructure
	if e.setup, err = e.infrastructure.Setup(options.Dir); err != nil {
		return err
	}
	ours := managementcluster.Provider(programs, e.Root, about.Name)
	if ours.Objects, err = options.Provider.Objects(); err != nil {
		return err
	}
	ours.Args, ours.APIServerFaults = append(ours.Args, managementcluster.KubeadmVersion(version)), options.APIServer
	ours.Args = append(append(ours.Args, options.Args...), e.setup.ManagerArgs...)
	maps.Copy(ours.Variables, e.setup.ManagerVariables)
	e.Management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: options.Dir, Programs: programs,
		Components: append(append(managementcluster.ClusterAPI(programs, source, version), options.Further...), ours),
	})
	if err != nil {
		return err
	}
	return e.connect(ctx, options.Provider)
}

func (e *Environment) connect(ctx context.Context, of provider.Provider) (err error) {
	if e.Client, err = provider.Connect(of, e.Management.RESTConfig); err != nil {
		return err
	}
	e.Workload, err = workload.New(ctx, e.Management.RESTConfig, workload.Options{Log: logr.Discard()})
	return err
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
	maps.Copy(all, e.setup.Variables)
	maps.Copy(all, variables)
	content, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return managementcluster.Fill(content, all)
}

// Close stops the environment.
func (e *Environment) Close() {
	if e.Management != nil {
		e.Management.Stop()
	}
	e.end(nil)
	e.background.Wait()
	if e.infrastructure != nil {
		e.infrastructure.Close()
	}
}
