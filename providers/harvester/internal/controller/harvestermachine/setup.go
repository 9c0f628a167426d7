// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package harvestermachine

import (
	"context"
	"slices"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
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

	infrav1 "github.com/faultline-io/faultline/providers/harvester/api/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/harvester"
	"github.com/faultline-io/faultline/providers/harvester/internal/virtualmachine"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/watch"
)

// nameIndex is the field index of HarvesterMachines by the name of their virtual machine.
const nameIndex = "virtualMachineName"

func virtualMachineName(o client.Object) []string {
	return []string{virtualmachine.Name(o.(*infrav1.HarvesterMachine))}
}

// idIndex is the field index of HarvesterMachines by id.
const idIndex = "machineID"

func machineID(o client.Object) []string {
	if id := o.GetAnnotations()[infrav1.MachineIDAnnotation]; id != "" {
		return []string{id}
	}
	return nil
}

// SetupWithManager adds the controller to the manager.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	clusterMachines, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.HarvesterMachineList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	for field, values := range map[string]client.IndexerFunc{nameIndex: virtualMachineName, idIndex: machineID} {
		if err := mgr.GetFieldIndexer().IndexField(ctx, &infrav1.HarvesterMachine{}, field, values); err != nil {
			return err
		}
	}
	r.controller, err = ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.HarvesterMachine{}, builder.WithPredicates(watch.SpecOrMetadataChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("HarvesterMachine"))),
			builder.WithPredicates(machineChanged())).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterMachines),
			builder.WithPredicates(watch.ClusterProgressed(mgr.GetScheme(), log))).
		Watches(&infrav1.HarvesterCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfInfraCluster), builder.WithPredicates(domainsChanged())).
		Watches(&infrav1.HarvesterCluster{}, handler.EnqueueRequestsFromMapFunc(r.allMachinesOfInfraCluster), builder.WithPredicates(specOrIdentityChanged())).
		WatchesRawSource(r.Connections.Source(harvester.Machine)).
		WatchesRawSource(r.Workloads.GetClusterSource("harvestermachine", r.machinesOfWorkload)).
		Build(r)
	return err
}

// machineChanged returns a predicate for Machines with a changed spec, and for Machines that have been linked to a Node or unlinked.
func machineChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*clusterv1.Machine), e.ObjectNew.(*clusterv1.Machine)
		return before.Generation != after.Generation || before.Status.NodeRef.IsDefined() != after.Status.NodeRef.IsDefined()
	}}
}

// domainsChanged returns a predicate for clusters whose list of failure domains changed, or the state or reason of one.
func domainsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*infrav1.HarvesterCluster), e.ObjectNew.(*infrav1.HarvesterCluster)
		same := func(a, b faultlinev1.DomainStatus) bool {
			return a.Name == b.Name && a.State == b.State && a.Reason == b.Reason
		}
		return !slices.EqualFunc(before.Status.Distribution.FailureDomains, after.Status.Distribution.FailureDomains, same)
	}}
}

// specOrIdentityChanged returns a predicate for clusters whose spec, id or Harvester UID changed, or for which identityRemoved began or
// ceased to be true.
func specOrIdentityChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		same := func(annotation string) bool {
			return e.ObjectOld.GetAnnotations()[annotation] == e.ObjectNew.GetAnnotations()[annotation]
		}
		return e.ObjectOld.GetGeneration() != e.ObjectNew.GetGeneration() || !same(infrav1.ClusterIDAnnotation) || !same(infrav1.HarvesterUIDAnnotation) ||
			identityRemoved(e.ObjectOld) != identityRemoved(e.ObjectNew)
	}}
}

// identityRemoved reports whether nothing is created for a cluster because its metadata is removed again.
func identityRemoved(o client.Object) bool {
	return conditions.GetReason(o.(*infrav1.HarvesterCluster), infrav1.InfrastructureReadyCondition) == infrav1.AnnotationsRemovedReason
}

// machinesOfInfraCluster enqueues the machines without a virtual machine, and those whose failure domain the cluster does not list.
func (r *Reconciler) machinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.HarvesterMachineList{}, func(infra *infrav1.HarvesterMachine) bool {
		return !conditions.IsTrue(infra, infrav1.MachineCreatedCondition) || conditions.Has(infra, infrav1.FailureDomainUnlistedCondition)
	}, watch.OfInfrastructure(o))
}

func (r *Reconciler) allMachinesOfInfraCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, watch.OfInfrastructure(o))
}

// machinesOfWorkload enqueues the machines of a Cluster whose connection was established: some wait for their Node, and others may get a
// new Node.
func (r *Reconciler) machinesOfWorkload(ctx context.Context, o client.Object) []reconcile.Request {
	return r.machines(ctx, watch.OfCluster(client.ObjectKeyFromObject(o)))
}

func (r *Reconciler) machines(ctx context.Context, which client.ListOption) []reconcile.Request {
	return watch.Requests[*infrav1.HarvesterMachine](ctx, r.Client, &infrav1.HarvesterMachineList{}, nil, which)
}
