// Copyright The Faultline Authors.
// SPDX-License-Identifier: Apache-2.0

package controllers

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kubevirtv1 "kubevirt.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lbv1 "github.com/faultline-io/faultline/providers/harvester/api/loadbalancer/v1beta1"
	"github.com/faultline-io/faultline/providers/harvester/internal/loadbalancer"
	"github.com/faultline-io/faultline/shared/reconcile"
)

// OrphanReconciler reconciles the load balancers that exist when the manager starts: a guest cluster may have been removed, with its
// machines, while no manager was running.
type OrphanReconciler struct {
	Client client.Client
	// Live reads from the API server.
	Live client.Reader
}

// +kubebuilder:rbac:groups="",resources=persistentvolumeclaims,verbs=list

// Reconcile deletes a load balancer whose guest cluster was removed. If it cannot determine that, it deletes nothing and retries.
func (o *OrphanReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	lb, err := reconcile.Find(ctx, o.Client, req.NamespacedName, &lbv1.LoadBalancer{})
	if err != nil || lb == nil || !mayBeOrphan(lb) {
		return ctrl.Result{}, err
	}
	machines, err := machinesOf(ctx, o.Client, lb)
	if err != nil || len(machines) > 0 {
		return ctrl.Result{}, err
	}
	gone, err := o.isDeleted(ctx, lb.Namespace, guestClusterOf(lb))
	if err != nil || !gone {
		return ctrl.Result{}, err
	}
	ctrl.LoggerFrom(ctx).Info("Deleting an orphaned load balancer of a removed guest cluster", "guestCluster", guestClusterOf(lb))
	err = o.Client.Delete(ctx, lb, client.Preconditions{UID: &lb.UID, ResourceVersion: &lb.ResourceVersion}) // else it is in use
	if client.IgnoreNotFound(err) != nil {
		return ctrl.Result{}, fmt.Errorf("deleting orphaned load balancer %s of a removed guest cluster: %w", lb.Name, err)
	}
	return ctrl.Result{}, nil
}

// mayBeOrphan reports whether a load balancer belongs to a guest cluster that is known to have had machines here. VirtualMachineReconciler
// handles a load balancer that is deleted with a machine.
func mayBeOrphan(lb *lbv1.LoadBalancer) bool {
	return guestClusterOf(lb) != "" && lb.DeletionTimestamp.IsZero() && lb.Annotations[lbv1.MachinesSeenAnnotation] == "true" &&
		lb.Annotations[lbv1.GoesWithAnnotation] == ""
}

// isDeleted reports whether no machine of a guest cluster is left in any namespace, and no disk. When Rancher removes a cluster,
// disks are deleted with their machines; those of a machine that was only deleted, or will be restored, stay.
func (o *OrphanReconciler) isDeleted(ctx context.Context, namespace, cluster string) (bool, error) {
	for _, kind := range []string{"VirtualMachineList", "VirtualMachineInstanceList"} {
		left := &metav1.PartialObjectMetadataList{}
		left.SetGroupVersionKind(kubevirtv1.VirtualMachineGroupVersionKind.GroupVersion().WithKind(kind))
		if err := o.Live.List(ctx, left, client.MatchingLabels{lbv1.MachineClusterLabel: cluster}); err != nil {
			return false, fmt.Errorf("listing machines of guest cluster %s: %w", cluster, err)
		}
		if len(left.Items) > 0 {
			return false, nil
		}
	}
	disks := &metav1.PartialObjectMetadataList{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaimList"}}
	if err := o.Live.List(ctx, disks, client.InNamespace(namespace)); err != nil {
		return false, fmt.Errorf("listing disks of guest cluster %s: %w", cluster, err)
	}
	for i := range disks.Items {
		if loadbalancer.NamedAfter(cluster, disks.Items[i].Name) {
			return false, nil
		}
	}
	return true, nil
}

// recordMachines records on the load balancers of the machine's guest cluster that the cluster has machines here.
func (m *VirtualMachineReconciler) recordMachines(ctx context.Context, vm client.Object) error {
	if clusterOf(vm) == "" {
		return nil
	}
	all, err := m.balancers(ctx, vm.GetNamespace(), client.MatchingFields{clusterField: clusterOf(vm)})
	if err != nil {
		return err
	}
	for i := range all {
		lb := &all[i]
		if lb.Annotations[lbv1.MachinesSeenAnnotation] == "true" || !lb.DeletionTimestamp.IsZero() {
			continue
		}
		before := lb.DeepCopy()
		metav1.SetMetaDataAnnotation(&lb.ObjectMeta, lbv1.MachinesSeenAnnotation, "true")
		if err := m.write(ctx, before, lb); err != nil {
			return err
		}
	}
	return nil
}
