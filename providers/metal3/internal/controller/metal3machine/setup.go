// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3machine

import (
	"context"
	"fmt"

	bmov1alpha1 "github.com/metal3-io/baremetal-operator/apis/metal3.io/v1alpha1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/predicates"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	infrav1 "github.com/faultline-io/faultline/providers/metal3/api/v1beta2"
	"github.com/faultline-io/faultline/providers/metal3/internal/hosts"
	"github.com/faultline-io/faultline/shared/nodes"
	"github.com/faultline-io/faultline/shared/watch"
)

// hostUIDIndex indexes BareMetalHosts by the UID that their Nodes carry as a label.
const hostUIDIndex = "metadata.uid"

// SetupWithManager adds the controller to the manager. The controller starts once the inventory of the source holds all hosts.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, source *hosts.Source, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	if err := mgr.GetFieldIndexer().IndexField(ctx, &bmov1alpha1.BareMetalHost{}, hostUIDIndex, func(o client.Object) []string {
		return []string{string(o.GetUID())}
	}); err != nil {
		return fmt.Errorf("indexing BareMetalHosts: %w", err)
	}
	if err := mgr.GetFieldIndexer().IndexField(ctx, &bmov1alpha1.BareMetalHost{}, hostHostnameIndex, func(o client.Object) []string {
		return []string{hostnameOf(o.(*bmov1alpha1.BareMetalHost))}
	}); err != nil {
		return fmt.Errorf("indexing BareMetalHosts: %w", err)
	}
	clusterMachines, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.Metal3MachineList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	providerID := handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &infrav1.Metal3Machine{}, handler.OnlyControllerOwner())
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.Metal3Machine{}, builder.WithPredicates(watch.SpecOrMetadataChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("Metal3Machine"))),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterMachines),
			builder.WithPredicates(watch.ClusterProgressed(mgr.GetScheme(), log))).
		Watches(&infrav1.Metal3Cluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfInfraCluster), builder.WithPredicates(domainsChanged())).
		Watches(&infrav1.Metal3Cluster{}, handler.EnqueueRequestsFromMapFunc(r.allMachinesOfInfraCluster), builder.WithPredicates(prefixesChanged())).
		Watches(&infrav1.Metal3DataClaim{}, providerID, builder.WithPredicates(claimStatusChanged())).
		Watches(&infrav1.Metal3Data{}, handler.EnqueueRequestsFromMapFunc(machineOfData), builder.WithPredicates(dataStatusChanged())).
		Watches(&bmov1alpha1.BareMetalHost{}, handler.EnqueueRequestsFromMapFunc(machineOfHost), builder.WithPredicates(hostProgressed())).
		WatchesRawSource(source).
		WatchesRawSource(r.Workloads.GetClusterSource("metal3machine", r.machinesOfWorkload)).
		Build(r)
	return err
}

// watchNodes makes Nodes of the workload cluster enqueue their machines. It does nothing if the watch exists.
func (r *Reconciler) watchNodes(ctx context.Context, s *scope) error {
	watch := nodes.Watch{Name: "metal3machine-nodes", Workloads: r.Workloads, Controller: r.controller, Identity: identityOf}
	return watch.Start(ctx, client.ObjectKeyFromObject(s.cluster), r.machineOfNode)
}
