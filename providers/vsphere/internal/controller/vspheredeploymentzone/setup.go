// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheredeploymentzone

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, hub *connection.EventHub, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.VSphereDeploymentZone{}, builder.WithPredicates(predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&infrav1.VSphereFailureDomain{}, handler.EnqueueRequestsFromMapFunc(r.zonesOfDomain),
			builder.WithPredicates(domainChanged())).
		Watches(&infrav1.VSphereDeploymentZone{}, handler.EnqueueRequestsFromMapFunc(r.otherZonesOfServer), builder.WithPredicates(configurationChanged())).
		Watches(&infrav1.VSphereCluster{}, handler.EnqueueRequestsFromMapFunc(r.zonesOfCluster), builder.WithPredicates(connection.Changed())).
		Watches(&infrav1.VSphereClusterIdentity{}, handler.EnqueueRequestsFromMapFunc(r.zonesOfIdentity)).
		WatchesMetadata(&corev1.Secret{}, handler.EnqueueRequestsFromMapFunc(r.zonesOfSecret)).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(r.zoneLeft), builder.WithPredicates(watch.Deleted())).
		WatchesRawSource(hub.Source(r.zonesOfEvent)).
		Complete(r)
}

func (r *Reconciler) zonesWhere(ctx context.Context, keep func(*infrav1.VSphereDeploymentZone) bool) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.VSphereDeploymentZoneList{}, keep)
}

func (r *Reconciler) zonesOfDomain(ctx context.Context, domain client.Object) []reconcile.Request {
	return r.zonesWhere(ctx, func(zone *infrav1.VSphereDeploymentZone) bool { return zone.Spec.FailureDomain == domain.GetName() })
}

// otherZonesOfServer returns the other auto-configured zones of the vCenter, which may share items.
func (r *Reconciler) otherZonesOfServer(ctx context.Context, object client.Object) []reconcile.Request {
	zone := object.(*infrav1.VSphereDeploymentZone)
	return r.zonesWhere(ctx, func(other *infrav1.VSphereDeploymentZone) bool {
		return other.Name != zone.Name && infrav1.SameServer(other.Spec.Server, zone.Spec.Server) && conditions.Has(other, infrav1.VSphereDeploymentZoneAutoConfiguredCondition)
	})
}

// configurationChanged passes zones whose records of created items changed, or whose deletion began.
func configurationChanged() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*infrav1.VSphereDeploymentZone), e.ObjectNew.(*infrav1.VSphereDeploymentZone)
			return !equality.Semantic.DeepEqual(before.Status.Configured, after.Status.Configured) ||
				len(after.Status.Configured) > 0 && before.DeletionTimestamp.IsZero() && !after.DeletionTimestamp.IsZero()
		},
		DeleteFunc: func(e event.DeleteEvent) bool {
			return len(e.Object.(*infrav1.VSphereDeploymentZone).Status.Configured) > 0
		},
	}
}

// zonesOfCluster returns the zones whose account or thumbprint may come from the cluster.
func (r *Reconciler) zonesOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.zonesWhere(ctx, func(zone *infrav1.VSphereDeploymentZone) bool {
		return placement.Selects(cluster.(*infrav1.VSphereCluster), zone)
	})
}

// zonesOfIdentity returns the zones that are checked with the account of an identity.
func (r *Reconciler) zonesOfIdentity(ctx context.Context, identity client.Object) []reconcile.Request {
	return r.zonesWhere(ctx, func(zone *infrav1.VSphereDeploymentZone) bool {
		return zone.Spec.IdentityRef != nil && zone.Spec.IdentityRef.Name == identity.GetName()
	})
}

// zonesOfSecret returns the zones whose identity has its account in the Secret.
func (r *Reconciler) zonesOfSecret(ctx context.Context, secret client.Object) []reconcile.Request {
	if secret.GetNamespace() != r.Namespace {
		return nil
	}
	identities := &infrav1.VSphereClusterIdentityList{}
	if err := r.Client.List(ctx, identities); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing VSphereClusterIdentities")
		return nil
	}
	var requests []reconcile.Request
	for i := range identities.Items {
		if identities.Items[i].Spec.SecretName == secret.GetName() {
			requests = append(requests, r.zonesOfIdentity(ctx, &identities.Items[i])...)
		}
	}
	return requests
}

func (r *Reconciler) zoneLeft(_ context.Context, machine client.Object) []reconcile.Request {
	domain := machine.(*clusterv1.Machine).Spec.FailureDomain
	if domain == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: domain}}}
}

// zonesOfEvent returns the zones whose state an event may change.
func (r *Reconciler) zonesOfEvent(ctx context.Context, e vcenter.Event) []reconcile.Request {
	switch {
	case e.Kind == vcenter.InventoryChanged, e.Server == "":
		return r.zonesWhere(ctx, func(zone *infrav1.VSphereDeploymentZone) bool {
			return e.Server == "" || infrav1.SameServer(zone.Spec.Server, e.Server)
		})
	case e.Kind == vcenter.SessionUp, e.Kind == vcenter.SessionDown:
		var requests []reconcile.Request
		for _, key := range r.VCenters.ZonesOf(e.Account) {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		}
		return requests
	default:
		return nil
	}
}
