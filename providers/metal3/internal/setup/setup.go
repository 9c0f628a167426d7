// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup assembles the provider's controllers. Both the manager and the integration tests use it, so the tests run the
// same setup.
package setup

import (
	"context"
	"fmt"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3cluster"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3data"
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3machine"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/remote"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options holds the settings from the command line.
type Options struct {
	WatchFilter string
	Metrics     prometheus.Registerer
	// FastTrack leaves hosts powered on when a machine releases them, unless their disks are not cleaned.
	FastTrack bool
	// NameClaimsByHost names claims for metal3 addresses after the host instead of the Metal3Data.
	NameClaimsByHost bool
	// Clusters, Machines, DataTemplates, Data and Workloads are the numbers of objects reconciled at the same time; workload
	// clusters are reconciled to keep a connection to each.
	Clusters, Machines, DataTemplates, Data, Workloads int
	// MachineTemplates, Labels and Remediations are such numbers, too; Labels counts machines whose Nodes are labelled.
	MachineTemplates, Labels, Remediations int
	// Common holds the options of the controllers that all providers share.
	Common controllers.Options
	// WorkloadQPS and WorkloadBurst limit requests to each workload cluster.
	WorkloadQPS   float32
	WorkloadBurst int
	// Remote restricts what kubeconfigs provided by users may contain, and what servers named by users may respond.
	Remote remote.Rules
}

// CacheOptions reduces the memory of the manager's cache by dropping fields that are not read. The manager must be created with
// these options.
func CacheOptions(options *cache.Options) {
	hosts.CacheOptions(options)
	manager.StripObjects(options)
}

// Permissions of the shared controllers for kinds of this provider.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch

// Add adds all controllers to the manager, and the connections to workload clusters that they share.
func Add(ctx context.Context, mgr ctrl.Manager, o Options) error {
	domainMetrics, err := distribution.NewMetrics(o.Metrics)
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	connections, err := addWorkloads(ctx, mgr, o)
	if err != nil {
		return err
	}
	c, source := mgr.GetClient(), hosts.NewSource(mgr.GetCache())
	ours := &hosts.Hosts{Client: c, Live: mgr.GetAPIReader(), Inventory: source.Inventory, FastTrack: o.FastTrack, Clock: clock.RealClock{}}
	recorder := manager.Recorder(mgr, "metal3cluster")
	if err := (&metal3cluster.Reconciler{
		Client: c, Hosts: ours, Recorder: recorder, Provider: placement.Metal3{Client: c},
		Domains: &publish.Publisher{Client: c, Recorder: recorder, Clock: clock.RealClock{}, Metrics: domainMetrics},
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Clusters)); err != nil {
		return fmt.Errorf("adding Metal3Cluster controller: %w", err)
	}
	if err := (&metal3machine.Reconciler{
		Client: c, Hosts: ours, Workloads: connections, Recorder: manager.Recorder(mgr, "metal3machine"),
	}).SetupWithManager(ctx, mgr, source, o.WatchFilter, watch.Concurrency(o.Machines)); err != nil {
		return fmt.Errorf("adding Metal3Machine controller: %w", err)
	}
	if err := controllers.Add(ctx, mgr, o.WatchFilter, controllers.Of{Provider: placement.Metal3{Client: c}, Metrics: domainMetrics}, o.Common); err != nil {
		return err
	}
	if err := addMaintenance(ctx, mgr, o, connections, ours); err != nil {
		return err
	}
	return addData(ctx, mgr, o)
}

// addData adds the controllers that render metadata and network data.
func addData(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := (&metal3data.TemplateReconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: manager.Recorder(mgr, "metal3datatemplate")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.DataTemplates)); err != nil {
		return fmt.Errorf("adding Metal3DataTemplate controller: %w", err)
	}
	if err := (&metal3data.Reconciler{
		Client: mgr.GetClient(), Cache: mgr.GetCache(), Recorder: manager.Recorder(mgr, "metal3data"), NameClaimsByHost: o.NameClaimsByHost,
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Data)); err != nil {
		return fmt.Errorf("adding Metal3Data controller: %w", err)
	}
	return nil
}

// addWorkloads connects to the workload cluster of every Cluster on bare metal. Its cache keeps only the identity, labels and
// annotations of Nodes.
func addWorkloads(ctx context.Context, mgr ctrl.Manager, o Options) (clustercache.ClusterCache, error) {
	return remote.Connect(ctx, mgr, placement.Metal3{Client: mgr.GetClient()}, remote.Options{
		WatchFilter: o.WatchFilter, Concurrency: o.Workloads, QPS: o.WorkloadQPS, Burst: o.WorkloadBurst, Remote: o.Remote,
	}, remote.Contents{
		StripNode: func(node *corev1.Node) { node.ManagedFields, node.Status.Images = nil, nil },
		Indexes:   metal3machine.NodeIndexes(),
	})
}
