// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup puts the provider's controllers together. The manager's main and the integration tests both use it,
// so that what is tested is what runs.
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
	"github.com/faultline-io/faultline/providers/metal3/internal/controller/metal3datatemplate"
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

// Options are what the command line decides.
type Options struct {
	WatchFilter string
	Metrics     prometheus.Registerer
	// FastTrack leaves hosts powered on when a machine releases them, unless their disks are not cleaned.
	FastTrack bool
	// NameClaimsByHost names claims for metal3 addresses after the host instead of the Metal3Data.
	NameClaimsByHost bool
	// Clusters, Machines, DataTemplates, Data and Workloads are how many are reconciled at the same time; workload clusters
	// are reconciled to keep a connection to each.
	Clusters, Machines, DataTemplates, Data, Workloads int
	// MachineTemplates, Labels and Remediations are too: labels are those of one machine's Node.
	MachineTemplates, Labels, Remediations int
	// Common are those of the controllers that every provider has.
	Common controllers.Options
	// WorkloadQPS and WorkloadBurst limit requests to each workload cluster.
	WorkloadQPS   float32
	WorkloadBurst int
	// Remote is what kubeconfigs of users may name, and servers that users name may answer.
	Remote remote.Rules
}

// CacheOptions keeps what is not read out of the manager's memory. The manager must be made with them.
func CacheOptions(options *cache.Options) {
	hosts.CacheOptions(options)
	manager.StripObjects(options)
}

// The rights of the controllers that every provider has for kinds of this one.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3clusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch;patch

// Add adds every controller to the manager, and the connections to workload clusters that they share.
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
	tells := manager.Recorder(mgr, "metal3cluster")
	if err := (&metal3cluster.Reconciler{
		Client: c, Hosts: ours, Recorder: tells, Provider: placement.Metal3{Client: c},
		Domains: &publish.Publisher{Client: c, Recorder: tells, Clock: clock.RealClock{}, Metrics: domainMetrics},
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Workers(o.Clusters)); err != nil {
		return fmt.Errorf("adding Metal3Cluster controller: %w", err)
	}
	if err := (&metal3machine.Reconciler{
		Client: c, Hosts: ours, Workloads: connections, Recorder: manager.Recorder(mgr, "metal3machine"),
	}).SetupWithManager(ctx, mgr, source, o.WatchFilter, watch.Workers(o.Machines)); err != nil {
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

// addData adds what renders metadata and network data.
func addData(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if err := (&metal3datatemplate.Reconciler{Client: mgr.GetClient(), Live: mgr.GetAPIReader(), Recorder: manager.Recorder(mgr, "metal3datatemplate")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Workers(o.DataTemplates)); err != nil {
		return fmt.Errorf("adding Metal3DataTemplate controller: %w", err)
	}
	if err := (&metal3data.Reconciler{
		Client: mgr.GetClient(), Cache: mgr.GetCache(), Recorder: manager.Recorder(mgr, "metal3data"), NameClaimsByHost: o.NameClaimsByHost,
	}).SetupWithManager(ctx, mgr, o.WatchFilter, watch.Workers(o.Data)); err != nil {
		return fmt.Errorf("adding Metal3Data controller: %w", err)
	}
	return nil
}

// addWorkloads keeps a connection to the workload cluster of every Cluster on bare metal. Of Nodes it remembers what tells
// them apart and what they are marked with.
func addWorkloads(ctx context.Context, mgr ctrl.Manager, o Options) (clustercache.ClusterCache, error) {
	return remote.Connect(ctx, mgr, placement.Metal3{Client: mgr.GetClient()}, remote.Options{
		WatchFilter: o.WatchFilter, Concurrency: o.Workloads, QPS: o.WorkloadQPS, Burst: o.WorkloadBurst, Remote: o.Remote,
	}, remote.Contents{
		StripNode: func(node *corev1.Node) { node.ManagedFields, node.Status.Images = nil, nil },
		Indexes:   metal3machine.NodeIndexes(),
	})
}
