// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup adds the provider's controllers to a manager. The manager's main and the integration tests both use it, so that the tests
// run the same setup.
package setup

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/faultline-io/faultline/providers/harvester/internal/controller/harvestercluster"
	"github.com/faultline-io/faultline/providers/harvester/internal/controller/harvestermachine"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/ipam"
	"github.com/faultline-io/faultline/providers/harvester/internal/owned"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/remote"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options holds the settings of the command line.
type Options struct {
	WatchFilter string
	// Namespace is the only namespace whose objects are reconciled; "" means all.
	Namespace string
	Metrics   prometheus.Registerer
	// Clusters, Machines, Labels and Workloads are the numbers of objects to process simultaneously. Labels counts Nodes to label, and
	// Workloads counts workload clusters whose connections are maintained.
	Clusters, Machines, Labels, Workloads int
	// Common configures the controllers that every provider has.
	Common controllers.Options
	// Consent determines what a cluster may use in other namespaces.
	Consent owned.Consent
	// WorkloadQPS and WorkloadBurst limit requests to each workload cluster.
	WorkloadQPS   float32
	WorkloadBurst int
	// Remote limits the proxies that users' kubeconfigs may name, and the size of responses from servers that users name.
	Remote remote.Rules
}

// RBAC rules for this provider's kinds that the controllers of every provider need.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvesterclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=harvestermachines,verbs=get;list;watch;patch

// Add adds every controller to the manager, with their shared connections to Harvester and to workload clusters.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	metrics, err := distribution.NewMetrics(o.Metrics)
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	connections, err := connect(ctx, mgr, o.Consent.IdentityNamespaces, o.Remote)
	if err != nil {
		return err
	}
	of := placement.Harvester{Client: mgr.GetClient(), Connections: connections}
	workloads, err := remote.Connect(ctx, mgr, of, remote.Options{
		WatchFilter: o.WatchFilter, Concurrency: o.Workloads, QPS: o.WorkloadQPS, Burst: o.WorkloadBurst, Remote: o.Remote,
	}, remote.Contents{StripNode: harvestermachine.StripNode, Indexes: harvestermachine.NodeIndexes()})
	if err != nil {
		return err
	}
	if err := addCluster(ctx, mgr, o, &harvestercluster.Reconciler{Connections: connections, Workloads: workloads, Consent: o.Consent}, metrics); err != nil {
		return err
	}
	if err := (&harvestercluster.IdentitySecretReconciler{Client: mgr.GetClient(), Namespace: o.Namespace, Recorder: manager.Recorder(mgr, "identitysecret")}).SetupWithManager(ctx, mgr, watch.Concurrency(o.Clusters)); err != nil {
		return fmt.Errorf("adding the controller of identity Secrets: %w", err)
	}
	if err := (&harvestermachine.Reconciler{
		Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Connections: connections, Addresses: &ipam.Claimer{}, Workloads: workloads,
		Recorder: manager.Recorder(mgr, "harvestermachine"),
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Machines)); err != nil {
		return fmt.Errorf("adding HarvesterMachine controller: %w", err)
	}
	if err := addMachineTemplates(ctx, mgr, o.WatchFilter); err != nil {
		return err
	}
	if err := controllers.Add(ctx, mgr, o.WatchFilter, controllers.Of{Provider: of, Metrics: metrics}, o.Common); err != nil {
		return err
	}
	if err := (&nodes.Reconciler{Client: mgr.GetClient(), Provider: of, Workloads: workloads, Recorder: manager.Recorder(mgr, "nodelabels")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Labels)); err != nil {
		return fmt.Errorf("adding controller of Nodes' labels: %w", err)
	}
	return nil
}

// connect creates the connections to Harvester. They close when ctx is done.
func connect(ctx context.Context, mgr ctrl.Manager, mode owned.ConsentMode, rules remote.Rules) (*harvester.Connections, error) {
	scheme := runtime.NewScheme()
	if err := harvester.AddToScheme(scheme); err != nil {
		return nil, fmt.Errorf("registering the kinds of Harvester: %w", err)
	}
	connections := harvester.New(ctx, mgr.GetClient(), mgr.GetAPIReader(), scheme)
	connections.Consent, connections.Remote = mode, rules
	return connections, connections.WatchIdentities(ctx, mgr.GetCache())
}

// addCluster completes the HarvesterCluster controller, whose connections are set, and adds it.
func addCluster(ctx context.Context, mgr ctrl.Manager, o Options, r *harvestercluster.Reconciler, metrics *distribution.Metrics) error {
	c, recorder := mgr.GetClient(), manager.Recorder(mgr, "harvestercluster")
	r.Client, r.Live, r.Recorder = c, mgr.GetAPIReader(), recorder
	r.Domains = &publish.Publisher{Client: c, Recorder: recorder, Clock: clock.RealClock{}, Metrics: metrics}
	if err := r.SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Clusters)); err != nil {
		return fmt.Errorf("adding HarvesterCluster controller: %w", err)
	}
	return nil
}
