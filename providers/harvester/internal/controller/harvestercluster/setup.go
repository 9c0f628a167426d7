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
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/placement"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager adds the controller to the manager. The connections report changes on Harvester and of the Secret with the kubeconfig.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	ofCluster := util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("HarvesterCluster"), mgr.GetClient(), &infrav1.HarvesterCluster{})
	ours := watch.Collect(watch.InfraClusters(r.Client, &infrav1.HarvesterClusterList{}))
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.HarvesterCluster{}, builder.WithPredicates(watch.SpecOrMetadataChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(ofCluster),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Watches(&infrav1.HarvesterMachine{}, ours, builder.WithPredicates(publish.WaitChanged(placement.WaitsFor))).
		Watches(&clusterv1.Machine{}, ours, builder.WithPredicates(publish.MachineMoved())).
		WatchesRawSource(r.Connections.Source(harvester.Cluster)).
		WatchesRawSource(r.Workloads.GetClusterSource("harvestercluster", ofCluster)).
		Complete(r)
}
