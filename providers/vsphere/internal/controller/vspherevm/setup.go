// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"

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
	"github.com/faultline-io/faultline/providers/vsphere/internal/connection"
	"github.com/faultline-io/faultline/providers/vsphere/internal/events"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/watchfilter"
)

// Indexes of VSphereVMs by what vCenter knows them by.
const (
	uuidIndex = "uuid"
	taskIndex = "status.taskRef"
)

// SetupWithManager adds the controller.
func (r *Reconciler) SetupWithManager(ctx context.Context, mgr ctrl.Manager, hub *events.Hub, watchFilter string, options controller.Options) error {
	r.filter = watchfilter.Filter(watchFilter)
	if err := index(ctx, mgr.GetFieldIndexer()); err != nil {
		return err
	}
	log := ctrl.LoggerFrom(ctx)
	clusterVMs, err := util.ClusterToTypedObjectsMapper(mgr.GetClient(), &infrav1.VSphereVMList{}, mgr.GetScheme())
	if err != nil {
		return err
	}
	return ctrl.NewControllerManagedBy(mgr).
		// Its own status is not news to the controller, which has just written it.
		For(&infrav1.VSphereVM{}, builder.WithPredicates(predicate.Or(predicate.GenerationChangedPredicate{}, predicate.AnnotationChangedPredicate{}, resync()),
			predicates.ResourceHasFilterLabel(mgr.GetScheme(), log, watchFilter))).
		WithOptions(options).
		Watches(&clusterv1.Cluster{}, handler.EnqueueRequestsFromMapFunc(clusterVMs),
			builder.WithPredicates(predicates.ClusterPausedTransitions(mgr.GetScheme(), log))).
		Watches(&infrav1.VSphereCluster{}, handler.EnqueueRequestsFromMapFunc(r.vmsOfCluster), builder.WithPredicates(connection.Changed())).
		WatchesRawSource(hub.Source(r.vmsOfEvent)).
		Complete(r)
}

// resync passes what comes round every sync period, by which an event that was lost is made good.
func resync() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		return e.ObjectOld.GetResourceVersion() == e.ObjectNew.GetResourceVersion()
	}}
}

func index(ctx context.Context, indexer client.FieldIndexer) error {
	if err := indexer.IndexField(ctx, &infrav1.VSphereVM{}, uuidIndex, func(o client.Object) []string {
		vm := o.(*infrav1.VSphereVM)
		keys := []string{string(vm.UID)}
		if vm.Spec.BiosUUID != "" {
			keys = append(keys, vm.Spec.BiosUUID)
		}
		return keys
	}); err != nil {
		return err
	}
	return indexer.IndexField(ctx, &infrav1.VSphereVM{}, taskIndex, func(o client.Object) []string {
		if task := o.(*infrav1.VSphereVM).Status.TaskRef; task != "" {
			return []string{task}
		}
		return nil
	})
}

func (r *Reconciler) vmsOfCluster(ctx context.Context, o client.Object) []reconcile.Request {
	name := o.GetLabels()[clusterv1.ClusterNameLabel]
	for _, ref := range o.GetOwnerReferences() {
		if ref.Kind == "Cluster" {
			name = ref.Name
		}
	}
	return r.vms(ctx, func(*infrav1.VSphereVM) bool { return true },
		client.InNamespace(o.GetNamespace()), client.MatchingLabels{clusterv1.ClusterNameLabel: name})
}

// vmsOfEvent finds the objects that an event of vCenter moves on.
func (r *Reconciler) vmsOfEvent(ctx context.Context, e vcenter.Event) []reconcile.Request {
	switch e.Kind {
	case vcenter.VMChanged:
		return r.vmsByUUID(ctx, e)
	case vcenter.TaskDone:
		requests := r.vmsByUUID(ctx, e)
		if key, ok := r.tasks.owner(taskKey{server: e.Server, task: e.Task}); ok {
			requests = append(requests, reconcile.Request{NamespacedName: key})
		} else {
			requests = append(requests, r.vms(ctx, onServer(e.Server), client.MatchingFields{taskIndex: e.Task})...)
		}
		if len(requests) > 0 {
			return requests
		}
		// A task that no object knows may be the clone that a deletion waits for.
		return r.vms(ctx, func(vm *infrav1.VSphereVM) bool { return vm.Spec.Server == e.Server && !vm.DeletionTimestamp.IsZero() })
	case vcenter.InventoryChanged:
		return r.vms(ctx, func(vm *infrav1.VSphereVM) bool { return vm.Spec.Server == e.Server && lacksSomething(vm) })
	case vcenter.SessionUp, vcenter.SessionDown:
		return r.vms(ctx, func(vm *infrav1.VSphereVM) bool { return vm.Spec.Server == e.Server || e.Server == "" })
	default:
		return nil
	}
}

// lacksSomething reports whether the virtual machine waits for somebody to change the inventory.
func lacksSomething(vm *infrav1.VSphereVM) bool {
	switch conditions.GetReason(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition) {
	case infrav1.VSphereVMVirtualMachineWaitingForCloneReason, infrav1.VSphereVMVirtualMachineConfiguringReason,
		infrav1.VSphereVMVirtualMachinePoweringOnReason, infrav1.VSphereVMVirtualMachineWaitingForIPAddressReason,
		infrav1.VSphereVMVirtualMachineProvisionedReason, infrav1.VSphereVMVirtualMachineWaitingForBootstrapDataReason, "":
		return false
	default:
		return true
	}
}

func onServer(server string) func(*infrav1.VSphereVM) bool {
	return func(vm *infrav1.VSphereVM) bool { return vm.Spec.Server == server }
}

func (r *Reconciler) vmsByUUID(ctx context.Context, e vcenter.Event) []reconcile.Request {
	var requests []reconcile.Request
	for _, uuid := range []string{e.InstanceUUID, e.BiosUUID} {
		if uuid != "" {
			requests = append(requests, r.vms(ctx, func(*infrav1.VSphereVM) bool { return true }, client.MatchingFields{uuidIndex: uuid})...)
		}
	}
	return requests
}

func (r *Reconciler) vms(ctx context.Context, keep func(*infrav1.VSphereVM) bool, opts ...client.ListOption) []reconcile.Request {
	list := &infrav1.VSphereVMList{}
	if err := r.Client.List(ctx, list, opts...); err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Listing VSphereVMs")
		return nil
	}
	var requests []reconcile.Request
	for i := range list.Items {
		if keep(&list.Items[i]) {
			requests = append(requests, reconcile.Request{NamespacedName: client.ObjectKeyFromObject(&list.Items[i])})
		}
	}
	return requests
}
