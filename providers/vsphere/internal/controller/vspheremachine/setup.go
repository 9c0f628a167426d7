// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspheremachine

import (
	"context"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/utils/ptr"
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

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/placement"
	faultlinev1 "github.com/faultline-io/faultline/shared/api/v1beta1"
	"github.com/faultline-io/faultline/shared/watch"
)

// SetupWithManager registers the controller. It watches VSphereClusters twice: a changed spec concerns all machines, changed failure
// domains only those that wait.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, watchFilter string, options controller.Options) error {
	r.filter = watch.Filter(watchFilter)
	log := ctrl.LoggerFrom(ctx)
	clusterMachines, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.VSphereMachineList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		For(&infrav1.VSphereMachine{}, builder.WithPredicates(watch.SpecOrMetadataChanged(), predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Machine{}, handler.EnqueueRequestsFromMapFunc(util.MachineToInfrastructureMapFunc(infrav1.GroupVersion.WithKind("VSphereMachine"))),
			builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterMachines),
			builder.WithPredicates(watch.ClusterProgressed(mgr.GetScheme(), log))).
		Watches(&infrav1.VSphereVM{}, handler.EnqueueRequestForOwner(mgr.GetScheme(), mgr.GetRESTMapper(), &infrav1.VSphereMachine{}),
			builder.WithPredicates(mirroredStateChanged())).
		Watches(&infrav1.VSphereDeploymentZone{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfZone), builder.WithPredicates(zoneChanged())).
		Watches(&infrav1.VSphereFailureDomain{}, handler.EnqueueRequestsFromMapFunc(r.machinesWaiting), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.VSphereCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesOfCluster), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		Watches(&infrav1.VSphereCluster{}, handler.EnqueueRequestsFromMapFunc(r.machinesWaitingInCluster), builder.WithPredicates(domainsChanged())).
		Complete(r)
}

// mirroredStateChanged drops provisioning steps of a VSphereVM that the VSphereMachine does not show.
func mirroredStateChanged() predicate.Predicate {
	return predicate.Funcs{
		// The VSphereVM was not just created by the machine: it was restored or moved, or existed before the manager started.
		CreateFunc: func(e event.CreateEvent) bool { return e.Object.(*infrav1.VSphereVM).Spec.BiosUUID != "" },
		UpdateFunc: func(e event.UpdateEvent) bool {
			before, after := e.ObjectOld.(*infrav1.VSphereVM), e.ObjectNew.(*infrav1.VSphereVM)
			return summaryOf(before) != summaryOf(after) ||
				ptr.Deref(after.Status.Ready, false) && !equality.Semantic.DeepEqual(before.Status.Network, after.Status.Network)
		},
	}
}

// summary is what a VSphereMachine shows of its VSphereVM, except for the network.
type summary struct {
	reason, message, host, domain, biosUUID string
	ready, deleting                         bool
}

// summaryOf returns the summary. A change of a VSphereVM that does not change it is dropped.
func summaryOf(vm *infrav1.VSphereVM) summary {
	s := summary{
		host: vm.Status.Host, domain: ptr.Deref(vm.Status.FailureDomain, ""), biosUUID: vm.Spec.BiosUUID,
		ready: ptr.Deref(vm.Status.Ready, false), deleting: !vm.DeletionTimestamp.IsZero(),
	}
	provisioned := shownCondition(vm)
	if provisioned != nil && !inProgress(provisioned.Reason) {
		s.reason, s.message = provisioned.Reason, provisioned.Message
	}
	if !s.ready {
		s.host, s.domain = "", ""
	}
	return s
}

// zoneChanged passes zones whose change may let a machine be placed, or changes the message of one that waits.
func zoneChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*infrav1.VSphereDeploymentZone), e.ObjectNew.(*infrav1.VSphereDeploymentZone)
		return ptr.Deref(before.Status.Ready, false) != ptr.Deref(after.Status.Ready, false) || before.Generation != after.Generation ||
			before.Status.ObservedGeneration != after.Status.ObservedGeneration ||
			before.Status.FailureDomainGeneration != after.Status.FailureDomainGeneration ||
			conditions.GetMessage(before, clusterv1.ReadyCondition) != conditions.GetMessage(after, clusterv1.ReadyCondition)
	}}
}

// domainsChanged passes VSphereClusters whose published failure domains have changed.
func domainsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, after := e.ObjectOld.(*infrav1.VSphereCluster), e.ObjectNew.(*infrav1.VSphereCluster)
		return !equality.Semantic.DeepEqual(before.Status.FailureDomains, after.Status.FailureDomains)
	}}
}

// machinesOfZone returns the machines that name or were assigned to the zone and are not placed yet.
func (r *Reconciler) machinesOfZone(ctx context.Context, zone client.Object) []reconcile.Request {
	machines := &clusterv1.MachineList{}
	if err := r.Client.List(ctx, machines, client.MatchingFields{placement.FailureDomainIndex: zone.GetName()}); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing Machines", "failureDomain", zone.GetName())
		return nil
	}
	var requests []reconcile.Request
	for i := range machines.Items {
		machine := &machines.Items[i]
		if !ptr.Deref(machine.Status.Initialization.InfrastructureProvisioned, false) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKey{
				Namespace: machine.Namespace, Name: machine.Spec.InfrastructureRef.Name,
			}})
		}
	}
	return append(requests, r.machines(ctx, func(machine *infrav1.VSphereMachine) bool {
		return faultlinev1.Value(machine.Annotations, faultlinev1.AssignedFailureDomainAnnotation) == zone.GetName() && !machine.Provisioned()
	})...)
}

// machinesOfCluster returns all machines of a cluster: placed ones may need a new thumbprint.
func (r *Reconciler) machinesOfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.machines(ctx, nil, watch.OfInfrastructure(cluster))
}

// machinesWaitingInCluster returns the machines of a cluster that may get a failure domain now. The state of a domain changes
// with every outage of a vCenter, so placed machines are not enqueued.
func (r *Reconciler) machinesWaitingInCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	return r.machines(ctx, func(machine *infrav1.VSphereMachine) bool {
		return !ptr.Deref(machine.Status.Initialization.Provisioned, false)
	}, watch.OfInfrastructure(cluster))
}

// machinesWaiting returns the machines that are not placed yet.
func (r *Reconciler) machinesWaiting(ctx context.Context, _ client.Object) []reconcile.Request {
	return r.machines(ctx, func(machine *infrav1.VSphereMachine) bool {
		return conditions.IsFalse(machine, infrav1.VSphereMachinePlacementReadyCondition)
	})
}

func (r *Reconciler) machines(ctx context.Context, keep func(*infrav1.VSphereMachine) bool, opts ...client.ListOption) []reconcile.Request {
	return watch.Requests(ctx, r.Client, &infrav1.VSphereMachineList{}, keep, opts...)
}
