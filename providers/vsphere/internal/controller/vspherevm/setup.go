// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"fmt"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamclusterv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/shared/ipamclaim"
	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager registers the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, hub *connection.EventHub, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.VSphereVM{}, eventIndex, eventKeys); err != nil {
		return err
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &ipamclusterv1.IPAddressClaim{}, ipamclaim.OwnerIndex, ownedByVM()); err != nil {
		return fmt.Errorf("indexing IPAddressClaims by owner: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &ipamclusterv1.IPAddress{}, addressIndex, ofPool); err != nil {
		return fmt.Errorf("indexing IPAddresses by pool: %w", err)
	}
	log := ctrl.LoggerFrom(ctx)
	clusterVMs, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.VSphereVMList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.VSphereVM{}, builder.WithPredicates(predicate.Or[client.Object](watch.SpecOrMetadataChanged(), referenceRemoved()),
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterVMs),
			builder.WithPredicates(watch.ClusterPausedOrCreated(mgr.GetScheme(), log))).
		Watches(&infrav1.VSphereCluster{}, handler.EnqueueRequestsFromMapFunc(r.vmsOfCluster), builder.WithPredicates(predicate.Or[client.Object](connection.Changed(), modulesChanged()))).
		Watches(&infrav1.VSphereDeploymentZone{}, handler.EnqueueRequestsFromMapFunc(r.vmsOfZone), builder.WithPredicates(connection.ZoneChanged())).
		Watches(&ipamclusterv1.IPAddressClaim{}, handler.EnqueueRequestsFromMapFunc(r.vmsOfClaim)).
		Watches(&ipamclusterv1.IPAddress{}, handler.EnqueueRequestsFromMapFunc(ipamclaim.OfAddress(r.Client, r.vmsOfClaim)), builder.WithPredicates(watch.Created())).
		WatchesRawSource(hub.Source(r.vmsOfEvent)).
		Complete(r)
}
