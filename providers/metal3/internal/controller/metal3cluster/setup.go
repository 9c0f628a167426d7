// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3cluster

import (
	"context"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/providers/metal3/internal/placement"
	"github.com/faultline-io/faultline/shared/publish"
	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	ours := watch.Collect(watch.InfraClusters(r.Client, &infrav1.Metal3ClusterList{}))
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.Metal3Cluster{}, builder.WithPredicates(watch.SpecOrMetadataChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(ctx, infrav1.GroupVersion.WithKind("Metal3Cluster"), mgr.GetClient(), &infrav1.Metal3Cluster{})),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Watches(&bmov1alpha1.BareMetalHost{}, watch.Collect(r.clustersOfHost), builder.WithPredicates(hostChanged())).
		Watches(&infrav1.Metal3Machine{}, ours, builder.WithPredicates(publish.WaitChanged(placement.WaitsFor))).
		Watches(&clusterv1.Machine{}, ours, builder.WithPredicates(publish.MachineMoved())).
		Complete(r)
}

// hostChanged passes updates of hosts that change the published state of a failure domain.
func hostChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := hosts.Observe(e.ObjectOld.(*bmov1alpha1.BareMetalHost)), hosts.Observe(e.ObjectNew.(*bmov1alpha1.BareMetalHost))
		return before.Domain != after.Domain || before.Unavailability != after.Unavailability
	}}
}

// clustersOfHost returns the clusters with failure domains, because a host that is in none of them may be mislabelled.
func (r *Reconciler) clustersOfHost(ctx context.Context, host client.Object) []reconcile.Request {
	if host.GetLabels()[infrav1.FailureDomainLabel] == "" {
		return nil
	}
	return watch.Requests(ctx, r.Client, &infrav1.Metal3ClusterList{}, func(cluster *infrav1.Metal3Cluster) bool {
		return len(cluster.Spec.FailureDomains) > 0
	}, client.InNamespace(host.GetNamespace()))
}
