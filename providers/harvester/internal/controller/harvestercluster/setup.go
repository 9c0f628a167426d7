// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestercluster

import (
	"context"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/watch"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// SetupWithManager adds the controller. What happens on Harvester, and to the Secret with the kubeconfig, reaches it by the connections.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watchfilter.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.HarvesterCluster{}, builder.WithPredicates(watch.NotStatusOnly(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter),
			predicates.ResourceIsNotExternallyManaged(mgr.GetScheme(), log))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(
				ctx, infrav1.GroupVersion.WithKind("HarvesterCluster"), mgr.GetClient(), &infrav1.HarvesterCluster{})),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log))).
		Watches(&infrav1.HarvesterMachine{}, watch.Collect(r.clusterOf), builder.WithPredicates(publish.WaitChanged(placement.WaitsFor))).
		Watches(&clusterv1.Machine{}, watch.Collect(r.clusterOf), builder.WithPredicates(publish.MachineMoved())).
		WatchesRawSource(r.Connections.Source(harvester.Cluster)).
		Complete(r)
}

// clusterOf finds the cluster by the label that everything of a cluster carries.
func (r *Reconciler) clusterOf(ctx context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	if name == "" {
		return nil
	}
	return watch.Requests(ctx, r.Client, &infrav1.HarvesterClusterList{}, func(cluster *infrav1.HarvesterCluster) bool {
		return watch.ClusterName(cluster) == name
	}, client.InNamespace(o.GetNamespace()))
}
