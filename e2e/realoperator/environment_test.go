//go:build e2e

// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package realoperator runs our bare-metal provider with upstream's bare-metal operator: the real program with the CRDs, RBAC rules and
// webhooks of its release. Ironic and the machines are simulated, Cluster API's managers are real, and workload clusters are kept in
// memory.
package realoperator

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
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/faultline-io/faultline/e2e/binaries"
	"github.com/faultline-io/faultline/e2e/managementcluster"
	"github.com/faultline-io/faultline/e2e/provider/metal3"
	"github.com/faultline-io/faultline/e2e/workload"
)

const (
	// namespace and name identify the cluster.
	namespace, name = "default", "real"
	// hostsPerRack allows for a control-plane machine, a worker, and a replacement.
	hostsPerRack = 4
)

// environment is a management cluster with our provider and the operator.
type environment struct {
	client     client.WithWatch
	racks      *metal3.OperatorSimulation
	management *managementcluster.Cluster
	workload   *workload.Simulator
	root       string

	background sync.WaitGroup
	end        context.CancelCauseFunc
}

// start starts the environment. The caller must close the returned environment, even on an error. ctx ends when a part of the environment
// fails.
func start(ctx context.Context, dir string, progress io.Writer) (*environment, context.Context, error) {
	e := &environment{}
	ctx, e.end = context.WithCancelCause(ctx)
	operator := metal3.OperatorOf(os.Getenv)
	if operator.Program == "" || operator.Release == "" {
		return e, ctx, errors.New("FAULTLINE_BMO and FAULTLINE_BMO_RELEASE are empty: they must name the program of the bare-metal operator and the kustomize directory of its release")
	}
	var err error
	if e.racks, err = metal3.NewOperatorSimulation(hostsPerRack, operator); err != nil {
		return e, ctx, err
	}
	if err := e.startManagement(ctx, dir, progress); err != nil {
		return e, ctx, err
	}
	e.background.Go(func() {
		select {
		case <-e.management.Failed():
			e.end(e.management.Err())
		case <-ctx.Done():
		}
	})
	e.run(ctx, e.workload.Start)
	operate, err := e.racks.Join(ctx, e.management, e.workload)
	if err != nil {
		return e, ctx, err
	}
	e.run(ctx, operate)
	return e, ctx, nil
}

func (e *environment) startManagement(ctx context.Context, dir string, progress io.Writer) error {
	builder, err := binaries.New(progress)
	if err != nil {
		return err
	}
	e.root = builder.Root
	about := metal3.Provider{}.Describe()
	programs, err := builder.Ensure(ctx, about.ManagementPrograms()...)
	if err != nil {
		return err
	}
	source, version, err := builder.ClusterAPI(ctx)
	if err != nil {
		return err
	}
	ours := managementcluster.Provider(programs, e.root, about.Name)
	ours.Args = append(ours.Args, managementcluster.KubeadmVersion(version))
	if ours.Objects, err = (metal3.Provider{}).Objects(); err != nil {
		return err
	}
	e.management, err = managementcluster.Start(ctx, managementcluster.Options{
		Dir: dir, Programs: programs, Components: append(managementcluster.ClusterAPI(programs, source, version), ours),
	})
	if err != nil {
		return err
	}
	if e.client, err = connect(e.management); err != nil {
		return err
	}
	e.workload, err = workload.New(ctx, e.management.RESTConfig, workload.Options{Log: logr.Discard()})
	return err
}

// connect returns a client whose scheme has the kinds of Cluster API and of the provider.
func connect(management *managementcluster.Cluster) (client.WithWatch, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme), controlplanev1.AddToScheme(scheme),
		metal3.Provider{}.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return client.NewWithWatch(management.RESTConfig, client.Options{Scheme: scheme})
}

// run runs a function in the background until the environment is closed, and ends ctx if it fails.
func (e *environment) run(ctx context.Context, f func(context.Context) error) {
	e.background.Go(func() {
		if err := f(ctx); err != nil && ctx.Err() == nil {
			e.end(err)
		}
	})
}

// createCluster creates the cluster of the provider's template.
func (e *environment) createCluster(ctx context.Context) error {
	host, port, err := e.workload.Endpoint(namespace, name)
	if err != nil {
		return fmt.Errorf("choosing the control plane's endpoint: %w", err)
	}
	setup, err := e.racks.Setup("")
	if err != nil {
		return err
	}
	variables := map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": namespace, "KUBERNETES_VERSION": binaries.KubernetesVersion,
		"CONTROL_PLANE_ENDPOINT_IP": host, "CONTROL_PLANE_ENDPOINT_PORT": strconv.Itoa(port),
		"METAL3_NODE_REUSE": "true", "FAILURE_DOMAIN_GRACE_SECONDS": "5", "FAILURE_DOMAIN_HOLD_SECONDS": "5",
	}
	maps.Copy(variables, setup.Variables)
	template, err := os.ReadFile(filepath.Join(e.root, "templates", "metal3", "cluster-template.yaml"))
	if err != nil {
		return err
	}
	objects, err := managementcluster.Fill(template, variables)
	if err != nil {
		return err
	}
	for _, object := range objects {
		if err := e.client.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func (e *environment) close() {
	if e.management != nil {
		e.management.Stop()
	}
	e.end(nil)
	e.background.Wait()
	if e.racks != nil {
		e.racks.Close()
	}
}
