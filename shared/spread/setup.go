// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package spread

import (
	"context"
	"maps"
	"slices"
	"time"

	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/provider"
	"github.com/faultline-io/faultline/shared/reconcile"
	"github.com/faultline-io/faultline/shared/watch"
)

// collectPeriod is how long changes of machines are collected before their cluster is reconciled, which reads all of them. It
// delays an assignment.
const collectPeriod = 100 * time.Millisecond

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	gvk, err := apiutil.GVKForObject(r.Provider.NewCluster(), mgr.GetScheme())
	if err != nil {
		return err
	}
	clusterOf := watch.CollectFor(collectPeriod, reconcile.InfraCluster(mgr.GetClient(), gvk.GroupKind()))
	return ctrl.NewControllerManagedBy(mgr).Named("spread").
		For(r.Provider.NewCluster(), builder.WithPredicates(domainsChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{},
			handler.EnqueueRequestsFromMapFunc(util.ClusterToInfrastructureMapFunc(ctx, gvk, mgr.GetClient(), r.Provider.NewCluster())),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Watches(&clusterv1.Machine{}, clusterOf, builder.WithPredicates(machineChanged())).
		Watches(r.Provider.NewMachine(), clusterOf, builder.WithPredicates(placeChanged(r.Provider))).
		Watches(&clusterv1.MachineDeployment{}, clusterOf, builder.WithPredicates(deploymentChanged())).
		Complete(r)
}

// domainsChanged passes infrastructure clusters whose spec or failure domains have changed. It drops this controller's own
// writes.
func domainsChanged() predicate.Predicate {
	spec := watch.SpecOrMetadataChanged()
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(provider.Cluster)
		after, same := e.ObjectNew.(provider.Cluster)
		if !ok || !same || spec.Update(e) || before.GetDeletionTimestamp().IsZero() != after.GetDeletionTimestamp().IsZero() {
			return true
		}
		wanted, was := before.Distribution()
		_, is := after.Distribution()
		return !maps.Equal(ParentsOf(*wanted, *before.FailureDomains()), ParentsOf(*wanted, *after.FailureDomains())) || !was.FailureDomainsSince.Equal(&is.FailureDomainsSince) || !slices.EqualFunc(was.FailureDomains, is.FailureDomains,
			func(a, b faultlinev1.DomainStatus) bool {
				return a.Name == b.Name && a.State == b.State && ptr.Equal(a.Capacity, b.Capacity)
			})
	}}
}

// machineChanged passes workers that were created or deleted, or whose state relevant to placement has changed.
func machineChanged() predicate.Predicate {
	worker := predicate.NewPredicateFuncs(func(o client.Object) bool { return isWorker(o.(*clusterv1.Machine)) })
	return predicate.And(worker, predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
		return before.Generation != after.Generation || !maps.Equal(before.Labels, after.Labels) || !maps.Equal(before.Annotations, after.Annotations) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero() || unhealthy(before) != unhealthy(after) || rankOf(before) != rankOf(after) ||
			conditions.GetReason(before, clusterv1.MachineDeletingCondition) != conditions.GetReason(after, clusterv1.MachineDeletingCondition) ||
			before.Status.FailureDomain != after.Status.FailureDomain || before.ResourceVersion == after.ResourceVersion
	}})
}

// placeChanged passes infrastructure machines that were created or deleted, or whose placement or assignment has changed.
func placeChanged(p provider.Provider) predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		domain, key := written(e.ObjectOld)
		nowDomain, nowKey := written(e.ObjectNew)
		return domain != nowDomain || key != nowKey || p.Location(e.ObjectOld) != p.Location(e.ObjectNew) ||
			e.ObjectOld.GetLabels()[clusterv1.ClusterNameLabel] != e.ObjectNew.GetLabels()[clusterv1.ClusterNameLabel] ||
			e.ObjectOld.GetDeletionTimestamp().IsZero() != e.ObjectNew.GetDeletionTimestamp().IsZero() ||
			e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
	}}
}

// deploymentChanged passes MachineDeployments that are scaled, changed or paused, or whose number of available replicas changes.
func deploymentChanged() predicate.Predicate {
	spec := watch.SpecOrMetadataChanged()
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.MachineDeployment), e.ObjectNew.(*clusterv1.MachineDeployment)
		was, is := before.Status, after.Status
		return spec.Update(e) || was.ObservedGeneration != is.ObservedGeneration || !ptr.Equal(was.Replicas, is.Replicas) ||
			!ptr.Equal(was.AvailableReplicas, is.AvailableReplicas) || !ptr.Equal(was.UpToDateReplicas, is.UpToDateReplicas) ||
			before.DeletionTimestamp.IsZero() != after.DeletionTimestamp.IsZero()
	}}
}
