// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package vspherevm

import (
	"context"
	"strings"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	infrav1 "github.com/faultline-io/faultline/providers/vsphere/api/v1beta2"
	"github.com/faultline-io/faultline/providers/vsphere/internal/vcenter"
	"github.com/faultline-io/faultline/shared/watch"
)

// eventIndex finds VSphereVMs by the keys of events that concern them. A vCenter reports tens of events a second that concern
// none of them, so the lookup for an event must not grow with the number of objects.
const eventIndex = "eventKeys"

// Keys of eventIndex.
func byUUID(uuid string) string         { return "uuid/" + strings.ToLower(uuid) }
func byVM(server, ref string) string    { return "vm/" + infrav1.ServerAddress(server) + "/" + ref }
func byTask(key taskKey) string         { return "task/" + key.server + "/" + key.task }
func byLostClones(server string) string { return "lostClones/" + infrav1.ServerAddress(server) }
func byInventory(server string) string  { return "inventory/" + infrav1.ServerAddress(server) }
func bySession(server, cluster string) string {
	return "session/" + infrav1.ServerAddress(server) + "/" + cluster
}
func byZone(zone string) string { return "zone/" + zone }

// eventKeys returns the index keys of an object.
func eventKeys(o client.Object) []string {
	vm := o.(*infrav1.VSphereVM)
	keys := []string{byUUID(string(vm.UID)), bySession(vm.Spec.Server, vm.Labels[clusterv1.ClusterNameLabel])}
	if zone := vm.Spec.Placement.FailureDomain; zone != "" {
		keys = append(keys, byZone(zone))
	}
	if vm.Spec.BiosUUID != "" {
		keys = append(keys, byUUID(vm.Spec.BiosUUID))
	}
	if vm.Status.VMRef != "" { // kept by a machine that has lost its UUIDs along with its files
		keys = append(keys, byVM(vm.Spec.Server, vm.Status.VMRef))
	}
	if vm.Status.TaskRef != "" {
		keys = append(keys, byTask(inFlight(vm)))
	}
	if !vm.DeletionTimestamp.IsZero() && unidentified(vm) {
		keys = append(keys, byLostClones(vm.Spec.Server))
	}
	if waitsForInventoryChange(vm) {
		keys = append(keys, byInventory(vm.Spec.Server))
	}
	return keys
}

// unidentified reports whether nothing that identifies the virtual machine is recorded: if there was a clone, the object waits
// only for its end.
func unidentified(vm *infrav1.VSphereVM) bool { return vm.Spec.BiosUUID == "" && vm.Status.VMRef == "" }

// referenceRemoved passes VSphereVMs whose status.vmRef was removed, as conditions advise.
func referenceRemoved() predicate.Predicate {
	return predicate.Funcs{
		CreateFunc: func(event.CreateEvent) bool { return false }, DeleteFunc: func(event.DeleteEvent) bool { return false },
		GenericFunc: func(event.GenericEvent) bool { return false },
		UpdateFunc: func(e event.UpdateEvent) bool {
			recorded := func(o client.Object) bool { return o.(*infrav1.VSphereVM).Status.VMRef != "" }
			return recorded(e.ObjectOld) && !recorded(e.ObjectNew)
		},
	}
}

// waitsForInventoryChange reports whether the virtual machine waits for a change of the inventory.
func waitsForInventoryChange(vm *infrav1.VSphereVM) bool {
	if conditions.IsFalse(vm, infrav1.VSphereVMVMGroupJoinedCondition) {
		return true
	}
	switch conditions.GetReason(vm, infrav1.VSphereVMVirtualMachineProvisionedCondition) {
	case infrav1.VSphereVMVirtualMachineWaitingForCloneReason, infrav1.VSphereVMVirtualMachineConfiguringReason,
		infrav1.VSphereVMVirtualMachineUpgradingHardwareReason, infrav1.VSphereVMVirtualMachineAddingPCIDevicesReason,
		infrav1.VSphereVMVirtualMachinePoweringOnReason, infrav1.VSphereVMVirtualMachineWaitingForIPAddressReason,
		infrav1.VSphereVMVirtualMachineWaitingForIPAllocationReason,
		infrav1.VSphereVMVirtualMachineProvisionedReason, infrav1.VSphereVMVirtualMachineWaitingForBootstrapDataReason,
		infrav1.VSphereVMVirtualMachineWaitingForClusterModuleReason, "":
		return false
	default:
		return true
	}
}

// vmsOfEvent returns the requests for the objects that an event of vCenter concerns.
func (r *Reconciler) vmsOfEvent(ctx context.Context, e vcenter.Event) []reconcile.Request {
	switch e.Kind {
	case vcenter.VMChanged:
		return r.vmsByUUID(ctx, e)
	case vcenter.TaskDone:
		return r.vmsOfTask(ctx, e)
	case vcenter.InventoryChanged:
		// The most recent failures are recorded here before the cache shows them.
		return append(r.vmsByKey(ctx, byInventory(e.Server)), r.failures.on(e.Server)...)
	case vcenter.SessionUp, vcenter.SessionDown:
		return r.vmsOfAccount(ctx, e)
	default:
		return nil
	}
}

func (r *Reconciler) vmsOfTask(ctx context.Context, e vcenter.Event) []reconcile.Request {
	key := taskOn(e.Server, e.Task)
	requests := r.vmsByUUID(ctx, e)
	if owner, ok := r.tasks.owner(key); ok {
		return append(requests, reconcile.Request{NamespacedName: owner})
	}
	requests = append(requests, r.vmsByKey(ctx, byTask(key))...)
	if len(requests) > 0 {
		return requests
	}
	// A task without a known object may be the clone that a deletion waits for.
	return r.vmsByKey(ctx, byLostClones(e.Server))
}

// vmsOfAccount returns the requests for objects that use the account whose session came up or went down. Without a server,
// every account may have changed.
func (r *Reconciler) vmsOfAccount(ctx context.Context, e vcenter.Event) []reconcile.Request {
	if e.Server == "" {
		return r.vms(ctx)
	}
	var requests []reconcile.Request
	for _, key := range r.VCenters.ClustersOf(e.Account) {
		infra := &infrav1.VSphereCluster{}
		if err := r.Client.Get(ctx, key, infra); err != nil {
			continue // deleted, and nothing can be done with its account any more
		}
		requests = append(requests, r.vmsByKey(ctx, bySession(e.Server, watch.ClusterName(infra)), client.InNamespace(key.Namespace))...)
	}
	return requests
}

// vmsOfCluster returns the requests for the objects of a Cluster's VSphereCluster.
func (r *Reconciler) vmsOfCluster(ctx context.Context, o client.Object) []reconcile.Request {
	return r.vms(ctx, watch.OfInfrastructure(o))
}

// vmsOfZone returns the requests for objects that were placed in a deployment zone.
func (r *Reconciler) vmsOfZone(ctx context.Context, zone client.Object) []reconcile.Request {
	return r.vmsByKey(ctx, byZone(zone.GetName()))
}

func (r *Reconciler) vmsByUUID(ctx context.Context, e vcenter.Event) []reconcile.Request {
	var requests []reconcile.Request
	for _, uuid := range []string{e.InstanceUUID, e.BiosUUID} {
		if uuid != "" {
			requests = append(requests, r.vmsByKey(ctx, byUUID(uuid))...)
		}
	}
	if len(requests) == 0 && e.VM != "" {
		requests = r.vmsByKey(ctx, byVM(e.Server, e.VM))
	}
	return requests
}

func (r *Reconciler) vmsByKey(ctx context.Context, key string, opts ...client.ListOption) []reconcile.Request {
	return r.vms(ctx, append(opts, client.MatchingFields{eventIndex: key})...)
}

func (r *Reconciler) vms(ctx context.Context, opts ...client.ListOption) []reconcile.Request {
	return watch.Requests[*infrav1.VSphereVM](ctx, r.Client, &infrav1.VSphereVMList{}, nil, opts...)
}
