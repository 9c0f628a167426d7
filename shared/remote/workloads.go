// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package remote

import (
	"context"
	"fmt"

	"github.com/spf13/pflag"
	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/controllers/clustercache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/faultline-io/faultline/shared/manager"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/watch"
)

// Options are set by command-line flags.
type Options struct {
	// WatchFilter limits the connections to Clusters with this value of the watch label; "" means all Clusters.
	WatchFilter string
	// Concurrency is the number of connections to process simultaneously.
	Concurrency int
	// QPS and Burst limit requests to each workload cluster; 0 means Cluster API's default.
	QPS   float32
	Burst int
	// Remote limits what kubeconfigs may name and what their servers may respond.
	Remote Rules
}

// AddFlags adds the flags for these options, with the names used by Cluster API's managers.
func AddFlags(fs *pflag.FlagSet, concurrency *int, qps *float32, burst *int) {
	fs.IntVar(concurrency, "clustercache-concurrency", 10, "Number of clusters to process simultaneously in the cluster cache.")
	fs.Float32Var(qps, "clustercache-client-qps", 20, "Maximum queries per second to the API server of each workload cluster.")
	fs.IntVar(burst, "clustercache-client-burst", 30, "Maximum number of queries allowed in one burst to the API server of each workload cluster.")
}

// Contents configures what is cached of each workload cluster.
type Contents struct {
	// StripNode drops the fields of a Node that are not read.
	StripNode func(*corev1.Node)
	Indexes   []clustercache.CacheOptionsIndex
}

// Permission to read kubeconfigs. The permissions for Clusters come from package controllers.
//
// +kubebuilder:rbac:groups="",resources=secrets,verbs=get

// Connect adds a cluster cache to the manager that connects with the workload cluster of every Cluster on the provider's
// infrastructure.
func Connect(ctx context.Context, mgr ctrl.Manager, infrastructure provider.Provider, o Options, keep Contents) (clustercache.ClusterCache, error) {
	kind, err := apiutil.GVKForObject(infrastructure.NewCluster(), mgr.GetScheme())
	if err != nil {
		return nil, fmt.Errorf("setting up the cluster cache: %w", err)
	}
	// A kubeconfig is only read when a connection is made, so Secrets are not cached.
	kubeconfigs := NewReader(mgr.GetAPIReader(), o.Remote, refusals(ctx, mgr))
	if err := forgetDeleted(ctx, mgr, kubeconfigs); err != nil {
		return nil, fmt.Errorf("setting up the cluster cache: %w", err)
	}
	workloads, err := clustercache.SetupWithManager(ctx, mgr, clustercache.Options{
		SecretClient:     kubeconfigs,
		WatchFilterValue: o.WatchFilter,
		ClusterFilter: func(cluster *clusterv1.Cluster) bool {
			return cluster.Spec.InfrastructureRef.GroupKind() == kind.GroupKind()
		},
		Cache: clustercache.CacheOptions{
			DefaultTransform: cache.TransformStripManagedFields(),
			ByObject:         map[client.Object]cache.ByObject{&corev1.Node{}: {Transform: strip(keep.StripNode)}},
			Indexes:          keep.Indexes,
		},
		Client: clustercache.ClientOptions{UserAgent: "faultline-" + infrastructure.Name() + "-manager", QPS: o.QPS, Burst: o.Burst},
	}, watch.Concurrency(o.Concurrency))
	if err != nil {
		return nil, fmt.Errorf("setting up the cluster cache: %w", err)
	}
	return workloads, nil
}

// RejectedReason is the reason of the event on a Cluster whose kubeconfig is rejected.
const RejectedReason = "KubeconfigRefused"

// refusals returns a function that records an event about a rejected kubeconfig on its Cluster.
func refusals(ctx context.Context, mgr ctrl.Manager) func(client.ObjectKey, error) {
	events := manager.Recorder(mgr, "clustercache")
	return func(key client.ObjectKey, why error) {
		cluster := &clusterv1.Cluster{}
		if err := mgr.GetClient().Get(ctx, key, cluster); err != nil {
			return // it was deleted; the cluster cache logs the reason
		}
		events.Eventf(cluster, nil, corev1.EventTypeWarning, RejectedReason, "Connect", "The manager does not connect to the workload cluster: %v", why)
	}
}

// forgetDeleted makes the reader drop deleted Clusters.
func forgetDeleted(ctx context.Context, mgr ctrl.Manager, kubeconfigs *Reader) error {
	clusters, err := mgr.GetCache().GetInformer(ctx, &clusterv1.Cluster{}, cache.BlockUntilSynced(false))
	if err != nil {
		return err
	}
	_, err = clusters.AddEventHandler(toolscache.ResourceEventHandlerFuncs{DeleteFunc: func(o any) {
		if gone, ok := o.(toolscache.DeletedFinalStateUnknown); ok {
			o = gone.Obj
		}
		if cluster, ok := o.(*clusterv1.Cluster); ok {
			kubeconfigs.Forget(client.ObjectKeyFromObject(cluster))
		}
	}})
	return err
}

func strip(node func(*corev1.Node)) func(any) (any, error) {
	return func(o any) (any, error) {
		if n, ok := o.(*corev1.Node); ok {
			node(n)
		}
		return o, nil
	}
}
