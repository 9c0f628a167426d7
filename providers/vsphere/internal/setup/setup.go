// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

// Package setup assembles the provider's controllers. The manager's main and the integration tests use the same code.
package setup

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	ctrlmanager "sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controller/vspherecluster"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controller/vsphereclusteridentity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controller/vspheredeploymentzone"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controller/vspheremachine"
	"github.com/faultline-io/faultline/providers/vsphere/internal/controller/vspherevm"
	"github.com/faultline-io/faultline/providers/vsphere/internal/identity"
	"github.com/faultline-io/faultline/providers/vsphere/internal/managementcluster"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/providers/vsphere/internal/virtualmachine"
	"github.com/faultline-io/faultline/shared/controllers"
	"github.com/faultline-io/faultline/shared/distribution"
	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/remote"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options holds the settings from the command line.
type Options struct {
	CredentialsFile string
	// SkipVerify accepts every certificate of a vCenter without a thumbprint.
	SkipVerify bool
	// Namespace is the manager's namespace.
	Namespace   string
	WatchFilter string
	Log         *slog.Logger
	Metrics     prometheus.Registerer
	// RetryAfter is the delay after vCenter failed a task; 0 means a minute.
	RetryAfter time.Duration
	// Clusters, Machines, VMs, Zones and Identities are the maximum numbers of concurrent reconciles.
	Clusters, Machines, VMs, Zones, Identities int
	// LabelNodes keeps a connection to each workload cluster to label its Nodes with their failure domain.
	LabelNodes bool
	// Labels and Workloads are the maximum numbers of concurrent reconciles for labelling Nodes and for connections.
	Labels, Workloads int
	// WorkloadQPS and WorkloadBurst limit requests to each workload cluster.
	WorkloadQPS   float32
	WorkloadBurst int
	// Remote restricts the kubeconfigs of users and the responses of servers that users name.
	Remote remote.Rules
	// ClusterModules spreads the machines of one owner across hosts with vCenter's cluster modules.
	ClusterModules bool
	// Common holds the options of the controllers that every provider has.
	Common controllers.Options
}

// RBAC of the shared controllers for the kinds of this provider.
//
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vsphereclusters/status,verbs=patch
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=vspheremachines,verbs=get;list;watch;patch

// Add adds all controllers, and the vCenter sessions that they share, to the manager.
func Add(ctx context.Context, mgr ctrl.Manager, options Options) error {
	if options.RetryAfter == 0 {
		options.RetryAfter = time.Minute
	}
	if err := placement.IndexMachines(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	hub := connection.NewEventHub()
	calls, err := newCallMetrics(options.Metrics)
	if err != nil {
		return err
	}
	dialer := &connection.Dialer{Client: mgr.GetClient()}
	pool := vcenter.NewPool(vcenter.Options{
		OnEvent: hub.Publish, OnCall: calls.observe, UserAgent: "faultline-vsphere-manager", SkipVerify: options.SkipVerify,
		OnServerGone: func(server string) { calls.forget(server); dialer.ForgetServer(server) },
		KeepNotes:    virtualmachine.Marks, Log: options.Log, MaxAnswer: options.Remote.Answer,
	})
	if err := mgr.Add(ctrlmanager.RunnableFunc(func(ctx context.Context) error {
		<-ctx.Done()
		logout, cancel := context.WithTimeout(context.WithoutCancel(ctx), logoutTimeout)
		defer cancel()
		return pool.Close(logout)
	})); err != nil {
		return err
	}
	file := &identity.File{Path: options.CredentialsFile, OnChange: func() { hub.Publish(vcenter.Event{Kind: vcenter.SessionDown}) }}
	if err := mgr.Add(file); err != nil {
		return err
	}
	identities := &identity.Resolver{Cache: mgr.GetCache(), Secrets: mgr.GetAPIReader(), Namespace: options.Namespace, Default: file}
	if err := identities.WatchSecrets(ctx, mgr.GetCache()); err != nil {
		return err
	}
	dialer.Sessions, dialer.Identities = pool, identities
	return add(ctx, mgr, options, hub, dialer)
}

// logoutTimeout bounds logging out of vCenters while the manager stops.
const logoutTimeout = 5 * time.Second

func add(ctx context.Context, mgr ctrl.Manager, o Options, hub *connection.EventHub, dialer *connection.Dialer) error {
	domainMetrics, err := distribution.NewMetrics(o.Metrics)
	if err != nil {
		return fmt.Errorf("registering metrics: %w", err)
	}
	c, now := mgr.GetClient(), clock.RealClock{}
	ours := placement.VSphere{Client: c, VCenters: dialer}
	if err := (&vspherecluster.Reconciler{
		Client: c, VCenters: dialer, Secrets: &vspherecluster.SecretOwner{Cache: mgr.GetCache(), Client: c}, Provider: ours,
		Domains: &publish.Publisher{Client: c, Recorder: manager.Recorder(mgr, "vspherecluster"), Clock: now, Metrics: domainMetrics}, ClusterModules: o.ClusterModules,
	}).SetupWithManager(ctx, mgr, hub, o.WatchFilter, watch.Concurrency(o.Clusters)); err != nil {
		return fmt.Errorf("adding VSphereCluster controller: %w", err)
	}
	if err := (&vspheremachine.Reconciler{Client: c, Live: mgr.GetAPIReader(), Recorder: manager.Recorder(mgr, "vspheremachine")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Machines)); err != nil {
		return fmt.Errorf("adding VSphereMachine controller: %w", err)
	}
	if err := (&vspherevm.Reconciler{
		ClusterModules: o.ClusterModules,
		Client:         c, Secrets: mgr.GetAPIReader(), Live: mgr.GetAPIReader(), VCenters: dialer, Recorder: manager.Recorder(mgr, "vspherevm"),
		Clock: now, RetryAfter: o.RetryAfter,
	}).SetupWithManager(ctx, mgr, hub, o.WatchFilter, watch.Concurrency(o.VMs)); err != nil {
		return fmt.Errorf("adding VSphereVM controller: %w", err)
	}
	if err := (&vspheredeploymentzone.Reconciler{
		Client: c, VCenters: dialer, Recorder: manager.Recorder(mgr, "vspheredeploymentzone"), Clock: now, Namespace: o.Namespace,
		Live: mgr.GetAPIReader(), ManagementCluster: &managementcluster.ID{Reader: mgr.GetAPIReader()}, RetryAfter: o.RetryAfter,
	}).SetupWithManager(ctx, mgr, hub, o.WatchFilter, watch.Concurrency(o.Zones)); err != nil {
		return fmt.Errorf("adding VSphereDeploymentZone controller: %w", err)
	}
	if err := (&vsphereclusteridentity.Reconciler{Client: c, Cache: mgr.GetCache(), Namespace: o.Namespace, Recorder: manager.Recorder(mgr, "vsphereclusteridentity")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Identities)); err != nil {
		return fmt.Errorf("adding VSphereClusterIdentity controller: %w", err)
	}
	if err := controllers.Add(ctx, mgr, o.WatchFilter, controllers.Of{Provider: ours, Metrics: domainMetrics}, o.Common); err != nil {
		return err
	}
	if err := addMachineTemplates(ctx, mgr, o.WatchFilter); err != nil {
		return err
	}
	return addNodeLabels(ctx, mgr, o)
}

func addNodeLabels(ctx context.Context, mgr ctrl.Manager, o Options) error {
	if !o.LabelNodes {
		return nil
	}
	ours := placement.VSphere{Client: mgr.GetClient()}
	connections, err := remote.Connect(ctx, mgr, ours, remote.Options{
		WatchFilter: o.WatchFilter, Concurrency: o.Workloads, QPS: o.WorkloadQPS, Burst: o.WorkloadBurst, Remote: o.Remote,
	}, remote.Contents{StripNode: nodes.StripNode})
	if err != nil {
		return err
	}
	if err := (&nodes.Reconciler{Client: mgr.GetClient(), Provider: ours, Workloads: connections, Recorder: manager.Recorder(mgr, "nodelabels")}).
		SetupWithManager(ctx, mgr, o.WatchFilter, watch.Concurrency(o.Labels)); err != nil {
		return fmt.Errorf("adding Node label controller: %w", err)
	}
	return nil
}
