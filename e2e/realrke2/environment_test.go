//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realrke2 runs our provider for vSphere with upstream's bootstrap and control-plane providers for RKE2: the real programs with the
// CRDs, RBAC rules and webhooks of their release. vCenter is simulated, Cluster API's manager is real, and workload clusters are kept in
// memory.
package realrke2

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider"
	"github.com/faultline-io/faultline/e2e/provider/vsphere"
	"github.com/faultline-io/faultline/e2e/workload"
	"github.com/faultline-io/faultline/shared/machines"
)

const (
	// programsVariable names the folder with the programs, releaseVariable upstream's sources with the manifests.
	programsVariable, releaseVariable = "FAULTLINE_RKE2", "FAULTLINE_RKE2_RELEASE"
	// namespace and name identify the cluster.
	namespace, name = "default", "real"
)

// environment is a management cluster with our provider and those for RKE2.
type environment struct {
	client     client.WithWatch
	vcenter    provider.Simulation
	setup      provider.Setup
	management *managementcluster.Cluster
	workload   *workload.Simulator
	root       string
	release    string

	background sync.WaitGroup
	end        context.CancelCauseFunc
}

// start starts the environment. The caller must close the returned environment, even on an error. ctx ends when a part of the environment
// fails.
func start(ctx context.Context, dir string, progress io.Writer) (*environment, context.Context, error) {
	e := &environment{release: os.Getenv(releaseVariable)}
	ctx, e.end = context.WithCancelCause(ctx)
	if os.Getenv(programsVariable) == "" || e.release == "" {
		return e, ctx, errors.New(programsVariable + " and " + releaseVariable +
			" are empty: they must name the folder with the programs of RKE2's providers and the folder of their sources")
	}
	var err error
	if e.vcenter, err = (vsphere.Provider{}).Simulate(""); err != nil {
		return e, ctx, err
	}
	if e.setup, err = e.vcenter.Setup(dir); err != nil {
		return e, ctx, err
	}
	if err := e.startManagement(ctx, dir, progress); err != nil {
		return e, ctx, err
	}
	e.run(ctx, func(ctx context.Context) error {
		select {
		case <-e.management.Failed():
			return e.management.Err()
		case <-ctx.Done():
			return nil
		}
	})
	e.run(ctx, e.workload.Start)
	return e, ctx, nil
}

func (e *environment) startManagement(ctx context.Context, dir string, progress io.Writer) error {
	builder, err := binaries.New(progress)
	if err != nil {
		return err
	}
	e.root = builder.Root
	programs, err := builder.Ensure(ctx, vsphere.Provider{}.Describe().ManagementPrograms()...)
	if err != nil {
		return err
	}
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	ours := managementcluster.Provider(programs, e.root, "vsphere")
	ours.Args = append(ours.Args, "--rke2-control-plane-version="+machines.RKE2{}.Facts().OldestTested)
	ours.Args = append(ours.Args, e.setup.ManagerArgs...)
	maps.Copy(ours.Variables, e.setup.ManagerVariables)
	e.management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: dir, Programs: programs, Components: append(managementcluster.ClusterAPI(programs, source, version),
			e.component("bootstrap"), e.component("controlplane"), ours),
	})
	if err != nil {
		return err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), vsphere.Provider{}.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("building the scheme: %w", err)
	}
	if e.client, err = client.NewWithWatch(e.management.RESTConfig, client.Options{Scheme: scheme}); err != nil {
		return err
	}
	e.workload, err = workload.New(ctx, e.management.RESTConfig, workload.Options{Log: logr.Discard()})
	return err
}

// component returns a manager of RKE2's providers, whose program has the name of its folder in upstream's sources.
func (e *environment) component(folder string) managementcluster.Component {
	return managementcluster.Component{
		Name: "rke2-" + folder, Program: filepath.Join(os.Getenv(programsVariable), "rke2-"+folder),
		Config: filepath.Join(e.release, folder, "config", "default"),
	}
}

// run runs a function in the background until the environment is closed, and ends ctx if it fails.
func (e *environment) run(ctx context.Context, f func(context.Context) error) {
	e.background.Go(func() {
		if err := f(ctx); err != nil && ctx.Err() == nil {
			e.end(err)
		}
	})
}

// fill returns the objects of a template.
func (e *environment) fill(path string, more map[string]string) ([]*unstructured.Unstructured, error) {
	host, port, err := e.workload.Endpoint(namespace, name)
	if err != nil {
		return nil, fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	variables := map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": namespace, "KUBERNETES_VERSION": binaries.KubernetesVersion,
		"CONTROL_PLANE_ENDPOINT_IP": host, "CONTROL_PLANE_ENDPOINT_PORT": strconv.Itoa(port), "WORKER_MACHINE_COUNT": "0",
		"FAILURE_DOMAIN_REBALANCE": "SurgeOne", "FAILURE_DOMAIN_GRACE_SECONDS": "5", "FAILURE_DOMAIN_HOLD_SECONDS": "5",
	}
	maps.Copy(variables, e.setup.Variables)
	maps.Copy(variables, more)
	template, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return managementcluster.Fill(template, variables)
}

func (e *environment) close() {
	if e.management != nil {
		e.management.Stop()
	}
	e.end(nil)
	e.background.Wait()
	if e.vcenter != nil {
		e.vcenter.Close()
	}
}

// upstreamVariables returns values of variables that only upstream's template has.
func upstreamVariables() map[string]string {
	return map[string]string{
		"CONTROL_PLANE_MACHINE_COUNT": strconv.Itoa(replicas), "RKE2_VERSION": binaries.KubernetesVersion + "+rke2r1", "VSPHERE_DATASTORE": "datastore-a",
		"VSPHERE_RESOURCE_POOL": "*/Resources", "VSPHERE_SSH_AUTHORIZED_KEY": "", "CPI_IMAGE_K8S_VERSION": "v1.35.0",
	}
}
